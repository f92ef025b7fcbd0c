#!/bin/sh
# Performs a sweep in 64 shards with GNU parallel, and merges them.
set -eu
SWEEP=${SWEEP:-compare mutex --only central,lamport,maekawa --sweep n=3..50:4 --runs 1024}
seq 64 | parallel "tenure $SWEEP --threads 1 --shard {}/64 > part-{}.jsonl"
tenure merge part-*.jsonl --format csv --plot locks.svg > locks.csv
