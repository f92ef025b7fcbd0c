#!/bin/sh
# Replaces an object of an object store by the output of a command, with conditional requests as in
# S3: If-Match, If-None-Match and ETag.
#
#   tenure lock report -- ./object.sh http://127.0.0.1:8080/bucket/report COMMAND…
#
# COMMAND reads the old contents from its standard input and writes the new ones to its output.
# The first line of the object is the highest fencing token. It must be part of the contents: an
# ETag is a hash of these, so a token in the metadata alone would not change it.
set -eu
url=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "$url: $1" >&2
    exit 1
}

# Sends a request, and sets `status` and `etag` to those of the response. Without an ETag, the next
# request would have no condition.
request() {
    status=$(curl -sS -D "$folder/head" -o "$folder/object" -w '%{http_code}' "$@" "$url")
    etag=$(sed -n 's/^[Ee][Tt][Aa][Gg]: *\(.*[^[:space:]]\)[[:space:]]*$/\1/p' "$folder/head")
    case $status in
        2*) [ -n "$etag" ] || fail "status $status without an ETag" ;;
    esac
}

# Puts the token and the contents of a file, if the object is still the one that was seen.
put() {
    { echo "$TENURE_FENCE" && cat "$1"; } >"$folder/body"
    request -X PUT -H "$condition" --data-binary "@$folder/body"
}

# Records the token. Another writer may be faster: then the object is read again.
while :; do
    request
    : >"$folder/old"
    case $status in
        200)
            condition="If-Match: $etag"
            highest=$(head -n 1 "$folder/object")
            if [ "$TENURE_FENCE" -lt "$highest" ]; then
                echo "fencing token $TENURE_FENCE is stale: the object has $highest" >&2
                exit 1
            fi
            tail -n +2 "$folder/object" >"$folder/old"
            ;;
        404) condition="If-None-Match: *" ;;
        *) fail "status $status" ;;
    esac
    put "$folder/old"
    case $status in
        2*) break ;;
        412) ;;
        *) fail "status $status" ;;
    esac
done

condition="If-Match: $etag"
"$@" <"$folder/old" >"$folder/new"
put "$folder/new"
case $status in
    2*) ;;
    412) fail "fencing token $TENURE_FENCE is stale: the object was replaced" ;;
    *) fail "status $status" ;;
esac
