#!/bin/sh
# Prints a folder that is kept in memory, where there is one with 4 GiB left in which programs can be run.
folder=/dev/shm
left=$(df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${left:-0}" -ge 4194304 ] || exit 0
program=$(mktemp -p "$folder" 2>/dev/null) || exit 0
trap 'rm -f "$program"' EXIT
printf '#!/bin/sh\n' > "$program" && chmod 700 "$program" && "$program" 2>/dev/null && echo "$folder"
exit 0
