"""Clusters of `tenure serve` or etcd on free ports of this machine."""

import dataclasses, json, os, pathlib, shutil, signal, socket, subprocess, tempfile, time, urllib.error, urllib.request

# Time within which a new cluster must have a leader, in seconds.
START_TIMEOUT = 60


# Sockets that reserve ports until this process ends.
RESERVED = []


def reserve_ports(count):
    """Reserves `count` different ports of 127.0.0.1, and returns their numbers.

    The sockets permit servers to listen at these ports. Linux does not choose a reserved port when another
    process asks for a free one.
    """
    for _ in range(count):
        reserved = socket.socket()
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        RESERVED.append(reserved)
    return [it.getsockname()[1] for it in RESERVED[-count:]]


@dataclasses.dataclass
class Member:
    """One server process with its command, so that it can be started again after a kill."""

    name: str
    client_port: int
    command: list
    directory: pathlib.Path
    process: subprocess.Popen = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.client_port}"

    def start(self):
        with open(self.directory / f"{self.name}.log", "a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            cwd=self.directory)

    def kill(self):
        """Ends the process with SIGKILL, as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def is_healthy(self):
        """Returns True if the member knows a leader and serves a linearizable read."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as response:
                return json.load(response).get("health") in ("true", True)
        except (OSError, ValueError):
            return False


class Cluster:
    """A cluster with `count` members in a temporary directory. Leaving the context ends all processes."""

    def __init__(self, server, program, count, options=()):
        self.server = server
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"dependents-{server}-"))
        ports = reserve_ports(2 * count)
        # The tests of python-etcd3 expect these names.
        names = [f"pifpaf{number}" for number in range(1, count + 1)]
        peers = [f"http://127.0.0.1:{port}" for port in ports[count:]]
        initial = ",".join(f"{name}={peer}" for name, peer in zip(names, peers))
        self.members = []
        for name, port, peer in zip(names, ports, peers):
            url = f"http://127.0.0.1:{port}"
            words = [program] + (["serve"] if server == "tenure" else [])
            words += ["--name", name, "--data-dir", f"{name}.data", "--listen-client-urls", url,
                      "--advertise-client-urls", url, "--initial-cluster", initial,
                      "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
            self.members.append(Member(name, port, words + list(options), self.directory))

    def __enter__(self):
        try:
            for member in self.members:
                member.start()
            self.wait_until_healthy()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members:
            if member.process and member.process.poll() is None:
                member.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def wait_until_healthy(self):
        deadline = time.monotonic() + START_TIMEOUT
        while not all(member.is_healthy() for member in self.members):
            ended = [it for it in self.members if it.process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "".join((self.directory / f"{it.name}.log").read_text()[-2000:] for it in ended or self.members)
                raise SystemExit(f"{self.server} does not serve:\n{logs}")
            time.sleep(0.1)

    @property
    def endpoints(self):
        return ",".join(member.url for member in self.members)

    def status(self, member):
        """Returns the JSON of `Maintenance.Status` of a member, or None if it does not answer."""
        request = urllib.request.Request(f"{member.url}/v3/maintenance/status", b"{}")
        try:
            with urllib.request.urlopen(request, timeout=2) as response:
                return json.load(response)
        except (OSError, ValueError):
            return None

    def leader(self):
        """Returns the member that leads, or None while no member reports itself as the leader."""
        for member in self.members:
            status = self.status(member)
            if status and status.get("leader") == status["header"].get("member_id"):
                return member
        return None


def version(server, program):
    """Returns the version of a server, for the table."""
    words = [program, "--version"]
    first = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return first.replace("etcd Version: ", "etcd ") if server == "etcd" else first
