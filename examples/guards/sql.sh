#!/bin/sh
# Changes a total in a database, unless a later holder of the lock has used the row.
#
#   tenure lock invoices -- ./sql.sh 'sqlite3 invoices.db' 1 COMMAND…
#   tenure lock invoices -- ./sql.sh 'psql -qtAX -v ON_ERROR_STOP=1 invoices' 1 COMMAND…
#
# The first argument is the client of SQLite or PostgreSQL, the second the invoice. COMMAND reads
# the old total from its standard input and writes the new one to its output.
# Table: invoices (id INTEGER PRIMARY KEY, total BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)
set -eu
client=$1
id=$2
shift 2

# Executes a statement, and fails if it changed no row.
changed() {
    row=$(echo "$1" | $client)
    if [ -z "$row" ]; then
        echo "fencing token $TENURE_FENCE is stale, or there is no invoice $id" >&2
        exit 1
    fi
    echo "$row"
}

# Records the token and reads: from here on every earlier holder is rejected.
total=$(changed "UPDATE invoices SET fence = $TENURE_FENCE
    WHERE id = $id AND fence <= $TENURE_FENCE RETURNING total;")
total=$(echo "$total" | "$@")
changed "UPDATE invoices SET total = $total, fence = $TENURE_FENCE
    WHERE id = $id AND fence <= $TENURE_FENCE RETURNING total;"
