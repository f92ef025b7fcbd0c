#!/bin/sh
# Runs one worker for each shard in a cluster, with an election per shard.
#
#   sharded-workers.sh SHARDS COMMAND…
#
# Every machine starts this. COMMAND receives SHARD, a number from 0 on, and TENURE_FENCE. A machine
# campaigns at once for the shards of its own, and STANDBY seconds later for all others, which it
# takes over if their machine fails. MACHINE (from 0 on) and MACHINES distribute the shards.
set -eu
shards=$1
shift
endpoint=${ENDPOINT:-http://127.0.0.1:2379}

# Runs the worker of a shard whenever this machine leads the shard.
campaign() {
    ended=
    trap 'ended=1' TERM # after the current command, which is sent TERM as well
    if [ $(($1 % ${MACHINES:-1})) -ne "${MACHINE:-0}" ]; then
        sleep "${STANDBY:-5}" || exit 0
    fi
    export SHARD="$1"
    shift
    while [ -z "$ended" ]; do
        tenure elect --endpoints "$endpoint" --ttl "${TTL:-10s}" "shards/$SHARD" -- "$@" || sleep 1
    done
}

trap 'trap "" TERM; kill 0; wait; exit 0' INT TERM
shard=0
while [ "$shard" -lt "$shards" ]; do
    campaign "$shard" "$@" &
    shard=$((shard + 1))
done
wait
