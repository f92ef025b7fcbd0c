#!/bin/sh
# Restarts a service on this machine, on at most two machines of the cluster at a time.
#
#   rolling-restart.sh shop 'systemctl restart shop' 'curl -sf http://127.0.0.1:8080/health'
#
# Run it on all machines at once. A machine keeps its place until the check succeeds, so a release
# that does not start stops the rollout after two machines. WITHIN is the time in seconds after which
# a machine gives up: it frees its place, and its status is 1. Then stop the others.
set -eu
name=$1
restart=$2
check=$3
endpoint=${ENDPOINT:-http://127.0.0.1:2379}

if [ "${TENURE_LOCK:-}" != "restart/$name" ]; then # also under another lock
    exec tenure lock --endpoints "$endpoint" --ttl "${TTL:-10s}" --slots 2 "restart/$name" -- \
        "$0" "$@"
fi
sh -c "$restart"
attempts=${WITHIN:-3600}
until sh -c "$check" >/dev/null; do
    attempts=$((attempts - 1))
    if [ "$attempts" -le 0 ]; then
        echo "$name does not pass its check: $check" >&2
        exit 1
    fi
    sleep 1
done
