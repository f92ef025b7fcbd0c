#!/bin/sh
# Applies the migrations of a database under a lock, in the order of their names, each once.
#
#   migration.sh 'psql -qtAX -v ON_ERROR_STOP=1 shop' DIRECTORY
#   migration.sh 'sqlite3 -bail shop.db' DIRECTORY
#
# Every copy of a service runs this before it starts. One applies the files DIRECTORY/*.sql, and the
# others wait. Each file is one transaction together with the record that it was applied, so that a
# former holder, which was paused, fails instead of applying a file again. (MySQL commits each change
# of a schema by itself, so there a migration must tolerate a second run.)
set -eu
client=$1
folder=$2
endpoint=${ENDPOINT:-http://127.0.0.1:2379}

if [ "${TENURE_LOCK:-}" != migrations ]; then # also under another lock
    exec tenure lock --endpoints "$endpoint" --ttl "${TTL:-10s}" migrations -- "$0" "$@"
fi
echo 'CREATE TABLE IF NOT EXISTS migrations (name VARCHAR(200) PRIMARY KEY, fence BIGINT NOT NULL);' |
    $client
for file in "$folder"/*.sql; do
    name=$(basename "$file")
    applied=$(echo "SELECT 1 FROM migrations WHERE name = '$name';" | $client)
    if [ -n "$applied" ]; then
        continue
    fi
    {
        echo "BEGIN;"
        echo "INSERT INTO migrations (name, fence) VALUES ('$name', $TENURE_FENCE);"
        cat "$file"
        echo "COMMIT;"
    } | $client
    echo "applied $name"
done
