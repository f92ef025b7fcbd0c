"""Holds a lock until the end of the standard input: lock.py http://127.0.0.1:2379 jobs/nightly"""

import sys

from session import Session

with Session(sys.argv[1]) as session:
    key, fence = session.lock(sys.argv[2])
    print("fence", fence, flush=True)
    sys.stdin.read()  # the work
    session.unlock(key)
