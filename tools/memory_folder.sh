#!/bin/sh
# Print the in-memory folder /dev/shm if it has 4 GiB free and allows executing programs; otherwise print nothing.
folder=/dev/shm
left=$(df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${left:-0}" -ge 4194304 ] || exit 0
program=$(mktemp -p "$folder" 2>/dev/null) || exit 0
trap 'rm -f "$program"' EXIT
printf '#!/bin/sh\n' > "$program" && chmod 700 "$program" && "$program" 2>/dev/null && echo "$folder"
exit 0
