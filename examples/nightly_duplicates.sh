#!/usr/bin/env bash
# Every night: index the new documents of a folder, and report their near-copies.
#
#   examples/nightly_duplicates.sh STORE FOLDER REPORTS
#
# STORE is a folder, or the URL of a Solr collection or OpenSearch index. A line for cron:
#   30 2 * * * /usr/local/bin/nightly_duplicates.sh https://solr.example.org/solr/docs /srv/documents /var/lib/whorl/reports
# It fails, and cron tells you, if more than one in a hundred documents cannot be read, or the store cannot be reached.
# The next run completes an interrupted one and skips finished work.
set -euo pipefail
store=$1 folder=$2 reports=$3
threshold=${THRESHOLD:-80}
# Include the time with fractions: a second run, even in the same second, must not replace the lists of the first.
now=$(date +%FT%H-%M-%S-%N)
mkdir -p "$reports"

whorl index --store "$store" "$folder"

# The state holds earlier comparisons, so a run compares only new documents.
whorl duplicates --store "$store" --state "$reports/state" --new --complete --threshold "$threshold" \
  --keep longest --delete-list "$reports/$now-superfluous.txt" -o "$reports/$now.csv"

# Nothing is deleted automatically. After checking the list:
#   xargs -d '\n' whorl delete --store STORE -- < REPORTS/TIME-superfluous.txt
if [ -s "$reports/$now-superfluous.txt" ]; then
  echo "documents that repeat others: $(wc -l < "$reports/$now-superfluous.txt"), see $reports/$now.csv"
fi
