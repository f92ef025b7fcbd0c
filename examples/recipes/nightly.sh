#!/bin/sh
# Runs a job once a day in a cluster. Every machine starts this at about the same time, from cron or
# a timer. The first one runs the job. The others wait, and end when they find it done.
#
#   0 3 * * *  nightly.sh report ./report.sh
#
# If the machine crashes or the job fails, the next one runs the job. The job must therefore tolerate
# a half-finished run, and give TENURE_FENCE to the resources that it writes to.
#
# With TLS, give curl below --cacert, --cert and --key as well. With users, each of its calls needs a
# header `Authorization: TOKEN`, with a new token of /v3/auth/authenticate.
set -eu
endpoint=${ENDPOINT:-http://127.0.0.1:2379} # one member; requests of this script go there
job=$1
export DAY="${DAY:-$(date -u +%F)}" # before the wait, which may pass midnight

if [ "${TENURE_LOCK:-}" != "nightly/$job" ]; then # also under another lock
    exec tenure lock --endpoints "$endpoint" --ttl "${TTL:-10s}" "nightly/$job" -- "$0" "$@"
fi
shift

# Calls a method of the key-value service.
call() {
    curl -sSf "$endpoint/v3/kv/$1" -d "$2"
}
key=$(printf %s "nightly-done/$job" | base64 -w 0)
day=$(printf %s "$DAY" | base64 -w 0)

last=$(call range "{\"key\": \"$key\"}")
case $last in
    *"\"value\":\"$day\""*) echo "$job is done on $DAY" && exit 0 ;;
esac
"$@"
call put "{\"key\": \"$key\", \"value\": \"$day\"}" >/dev/null
