"""Leads until the end of the standard input: elect.py http://127.0.0.1:2379 scheduler host-7"""

import sys

from session import Session

with Session(sys.argv[1]) as session:
    leader = session.campaign(sys.argv[2], sys.argv[3])
    print("fence", leader["rev"], flush=True)
    sys.stdin.read()  # the work of a leader
    session.resign(leader)
