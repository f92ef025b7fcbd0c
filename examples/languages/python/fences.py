"""Rejects the write of a former holder: fences.py http://127.0.0.1:2379 jobs/nightly"""

import sys

from session import Session


class Resource:
    """A value that is written only with the highest fencing token so far."""

    highest = 0

    def write(self, fence, value):
        if fence < self.highest:
            return False
        self.highest, self.value = fence, value
        return True


resource = Resource()
fences = []
with Session(sys.argv[1]) as session:
    for _ in range(2):
        key, fence = session.lock(sys.argv[2])
        fences.append(fence)
        session.unlock(key)
earlier, later = fences
assert resource.write(later, "new") and not resource.write(earlier, "old")
print("rejected", earlier, "after", later)
