#!/bin/sh
# Changes a total in MySQL or MariaDB, unless a later holder of the lock has used the row.
#
#   tenure lock invoices -- ./mysql.sh 'mysql -N invoices' 1 COMMAND…
#
# The arguments and the table are those of sql.sh. MySQL has no RETURNING, and it does not count a
# row whose values stay the same. The transaction therefore reads the row after the statement, while
# it holds the lock of the row.
set -eu
client=$1
id=$2
shift 2

# Executes an UPDATE of the row, and fails if a higher token has been recorded.
changed() {
    row=$(echo "START TRANSACTION;
        UPDATE invoices SET $1 WHERE id = $id AND fence <= $TENURE_FENCE;
        SELECT total FROM invoices WHERE id = $id AND fence = $TENURE_FENCE FOR UPDATE;
        COMMIT;" | $client)
    if [ -z "$row" ]; then
        echo "fencing token $TENURE_FENCE is stale, or there is no invoice $id" >&2
        exit 1
    fi
    echo "$row"
}

# Records the token and reads: from here on every earlier holder is rejected.
total=$(changed "fence = $TENURE_FENCE")
total=$(echo "$total" | "$@")
changed "total = $total, fence = $TENURE_FENCE"
