"""A session of a lock service over HTTP and JSON, with the standard library alone."""

import base64
import json
import threading
import time
import urllib.request


def now():
    """Returns the time in seconds, including the time in which the machine was suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Session:
    """A lease that a thread renews. The locks and leaderships of a session end with it."""

    def __init__(self, endpoint, ttl=10):
        self.endpoint, self.ttl, self.closed = endpoint, ttl, threading.Event()
        self.deadline = now() + ttl
        self.lease = self.post("lease/grant", {"TTL": ttl})["ID"]
        threading.Thread(target=self._renew, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed.set()
        self.post("lease/revoke", {"ID": self.lease})

    def lock(self, name):
        """Waits for a lock, and returns its key and its fencing token."""
        key = self.post("lock/lock", {"name": text(name), "lease": self.lease})["key"]
        claim = self.post("kv/range", {"key": key})["kvs"][0]
        return key, int(claim["create_revision"])

    def unlock(self, key):
        """Releases a lock."""
        self.post("lock/unlock", {"key": key})

    def campaign(self, name, value):
        """Waits for the leadership of an election. Its field `rev` is the fencing token."""
        body = {"name": text(name), "lease": self.lease, "value": text(value)}
        return self.post("election/campaign", body)["leader"]

    def resign(self, leader):
        """Ends a leadership."""
        self.post("election/resign", {"leader": leader})

    def is_valid(self):
        """Returns false if the lease may have expired. Ask before each step of the work."""
        return now() < self.deadline

    def post(self, call, body, timeout=None):
        """Calls a method of the service, and returns its response."""
        url, data = f"{self.endpoint}/v3/{call}", json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=timeout) as response:
            return json.load(response)

    def _renew(self):
        while not self.closed.wait(self.ttl / 3):
            sent = now()
            try:
                response = self.post("lease/keepalive", {"ID": self.lease}, self.ttl / 3)
            except OSError:
                continue  # tried again until the deadline
            if "TTL" not in response["result"]:
                self.deadline = 0  # the lease has expired
                return
            self.deadline = sent + self.ttl


def text(value):
    """Encodes a string as the service expects bytes in JSON."""
    return base64.b64encode(value.encode()).decode()
