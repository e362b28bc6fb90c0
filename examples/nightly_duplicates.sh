#!/usr/bin/env bash
# Every night: index what is new in a folder, and report the near-copies that came with it.
#
#   examples/nightly_duplicates.sh STORE FOLDER REPORTS
#
# STORE is a folder, or the URL of a Solr collection or of an index. A line for cron:
#   30 2 * * * /usr/local/bin/nightly_duplicates.sh https://solr.example.org/solr/docs /srv/documents /var/lib/whorl/reports
# It fails, and cron tells you, if more than one in a hundred documents cannot be read, or the store cannot be reached.
# A night that was interrupted is completed by the next one: what is done already is skipped.
set -euo pipefail
store=$1 folder=$2 reports=$3
threshold=${THRESHOLD:-80}
# With the time: of a second run on the same day nothing is new, and it would write an empty list over the first.
now=$(date +%FT%H-%M-%S)
mkdir -p "$reports"

whorl index --store "$store" "$folder"

# The state remembers what was compared before, so a night takes only as long as its new documents.
whorl duplicates --store "$store" --state "$reports/state" --new --complete --threshold "$threshold" \
  --keep longest --delete-list "$reports/$now-superfluous.txt" -o "$reports/$now.csv"

# Nothing is ever deleted by itself. After a look at the list:
#   xargs -d '\n' whorl delete --store STORE -- < REPORTS/TIME-superfluous.txt
if [ -s "$reports/$now-superfluous.txt" ]; then
  echo "documents that repeat others: $(wc -l < "$reports/$now-superfluous.txt"), see $reports/$now.csv"
fi
