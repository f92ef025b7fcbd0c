#!/bin/sh
# Replaces a resource of an HTTP service by the output of a command, with the fencing token in a
# header. The service compares the tokens: examples/08_fenced_service.rs.
#
#   tenure lock report -- ./http.sh http://127.0.0.1:8080/documents/report COMMAND…
#
# COMMAND reads the old contents from its standard input and writes the new ones to its output.
set -eu
url=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# Sends a request, and fails with the response of the service unless it is 200 or 404.
request() {
    status=$(curl -sS -o "$folder/response" -w '%{http_code}' \
        -H "Tenure-Fence: $TENURE_FENCE" "$@" "$url")
    case $status in
        200) ;;
        404) : >"$folder/response" ;;
        *) cat "$folder/response" >&2 && exit 1 ;;
    esac
}

request # a read with the token: from here on every earlier holder is rejected
"$@" <"$folder/response" >"$folder/new"
request -X PUT --data-binary "@$folder/new"
