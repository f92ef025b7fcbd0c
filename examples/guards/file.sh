#!/bin/sh
# Replaces a file by the output of a command, unless a later holder of the lock has used the file.
#
#   tenure lock report -- ./file.sh report.txt COMMAND…
#
# COMMAND reads the old contents from its standard input and writes the new ones to its output.
# FILE.fence has the highest fencing token. `FenceFile` of tenure-client uses the same format.
set -eu
file=$1
shift
exec 9>"$file.fence.lock"

# Locks the file, and compares and records the token.
admit() {
    flock 9
    highest=$(cat "$file.fence" 2>/dev/null || echo 0)
    if [ "$TENURE_FENCE" -lt "$highest" ]; then
        echo "fencing token $TENURE_FENCE is stale: $file has seen $highest" >&2
        exit 1
    fi
    echo "$TENURE_FENCE" >"$file.fence.new"
    sync "$file.fence.new"
    mv "$file.fence.new" "$file.fence"
    sync "$(dirname "$file")"
}

old=$(mktemp "$file.old.XXXXXX")
new=$(mktemp "$file.new.XXXXXX")
trap 'rm -f "$old" "$new"' EXIT
trap 'exit 1' HUP INT TERM

admit # before the read: from here on every earlier holder is rejected
if [ -e "$file" ]; then cat "$file" >"$old"; fi
flock -u 9
"$@" <"$old" >"$new" 9>&-
admit # before the write: this holder may have been paused
sync "$new"
mv "$new" "$file"
