"""Three nodes of PostgreSQL under Patroni whose leader lock is in etcd or Tenure, under kills.

Kills alternate between the primary with its Patroni, the leading member of the lock service, and another
member. A monitor looks for two primaries at once all the time, and the time of each failover is measured.
"""

import contextlib, json, os, pathlib, pwd, random, shutil, signal, statistics, subprocess, threading, time, venv

import servers
from suites import Unavailable, call

VERSION = "4.1.5"
# Seconds: the least lifetime of the lock that Patroni accepts, and its other intervals for it.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 2, 5
# Longest time for a failover or for the return of a killed node, in seconds.
RECOVERY_TIMEOUT = 180


class PostgresNode:
    """One Patroni with the PostgreSQL that it starts, in a process group of their own."""

    def __init__(self, name, directory, tools, cluster):
        self.name, self.directory, self.tools = name, directory, tools
        self.port, self.rest_port = servers.reserve_ports(2)
        self.process = None
        hosts = [url.removeprefix("http://") for url in cluster.endpoints.split(",")]
        roles = {role: {"username": "postgres" if role == "superuser" else role, "password": role}
                 for role in ("superuser", "replication")}
        config = {
            "scope": "tenure", "name": name,
            "restapi": {"listen": f"127.0.0.1:{self.rest_port}", "connect_address": f"127.0.0.1:{self.rest_port}"},
            "etcd3": {"hosts": hosts},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY_TIMEOUT,
                        "postgresql": {"use_pg_rewind": True, "parameters": {"fsync": "off", "shared_buffers": "16MB"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(directory / f"{name}.data"), "bin_dir": tools["bin"],
                "pgpass": str(directory / f"{name}.pgpass"), "authentication": roles,
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                           "host replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": str(directory)},
            },
        }
        # JSON is YAML.
        self.config = directory / f"{name}.yaml"
        self.config.write_text(json.dumps(config))

    def start(self):
        with open(self.directory / f"{self.name}.log", "a") as log:
            words = [*self.tools["user"], str(self.tools["patroni"]), str(self.config)]
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True, cwd=self.directory)

    def kill(self):
        """Ends Patroni and PostgreSQL with SIGKILL, as a crash of the machine does."""
        pidfile = self.directory / f"{self.name}.data" / "postmaster.pid"
        try:
            postmaster = int(pidfile.read_text().split()[0])
            # After a crash the file may name a process that no longer exists, or another one.
            if os.readlink(f"/proc/{postmaster}/cwd") != str(pidfile.parent):
                postmaster = None
        except FileNotFoundError:
            postmaster = None
        # Patroni first: it would start PostgreSQL again. PostgreSQL has a session of its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if postmaster is not None:
            children = pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children")
            backends = [int(it) for it in children.read_text().split()] if children.exists() else []
            for pid in (postmaster, *backends):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def identity(self):
        """Returns the start time of a PostgreSQL that accepts writes, or None."""
        words = [self.tools["psql"], "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres", "-AtXc",
                 "select case when pg_is_in_recovery() then '' else pg_postmaster_start_time()::text end"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=5,
                                  env=dict(os.environ, PGCONNECT_TIMEOUT="3"))
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.strip() or None

    def is_streaming(self):
        """Returns True for a standby that Patroni reports as running."""
        words = [self.tools["psql"], "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres", "-AtXc",
                 "select count(*) from pg_stat_wal_receiver where status = 'streaming'"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=10)
        return done.stdout.strip() == "1"


class PrimaryMonitor(threading.Thread):
    """Looks for two primaries at once until it is stopped.

    Two primaries are proven if a node accepts writes before and after another one does, without a restart.
    """

    def __init__(self, nodes):
        super().__init__(daemon=True)
        self.nodes, self.rounds, self.violations, self.stopped = nodes, 0, [], threading.Event()

    def run(self):
        while not self.stopped.wait(0.1):
            self.look()

    def look(self):
        self.rounds += 1
        seen = [(node, node.identity()) for node in self.nodes]
        primaries = [(node, identity) for node, identity in seen if identity]
        for node, identity in primaries[:-1]:
            if node.identity() == identity:
                names = ", ".join(it.name for it, _ in primaries)
                self.violations.append(f"{names} accepted writes at once in round {self.rounds}")


def wait_for(condition, description):
    """Returns the first true value of the condition, and the seconds until then."""
    started = time.monotonic()
    while time.monotonic() - started < RECOVERY_TIMEOUT:
        value = condition()
        if value:
            return value, time.monotonic() - started
        time.sleep(0.1)
    raise TimeoutError(f"{description} within {RECOVERY_TIMEOUT} s")


def primary(nodes):
    return next((node for node in nodes if node.identity()), None)


def settle(nodes, cluster):
    """Waits until there is a primary with two streaming standbys and all members of the service work."""
    wait_for(lambda: all(member.is_healthy() for member in cluster.members), "no healthy lock service")
    leading, _ = wait_for(lambda: primary(nodes), "no primary")
    wait_for(lambda: sum(node.is_streaming() for node in nodes if node is not leading) == len(nodes) - 1,
             "no two streaming standbys")
    return primary(nodes)


def exercise(server, program, tools, directory, kills):
    """Returns the failover times, the number of looks of the monitor, and the violations."""
    directory.mkdir()
    shutil.chown(directory, tools["owner"])
    failovers, choice = [], random.Random(1)
    with servers.Cluster(server, program, 3) as cluster:
        nodes = [PostgresNode(f"p{number}", directory, tools, cluster) for number in (1, 2, 3)]
        monitor = PrimaryMonitor(nodes)
        try:
            for node in nodes:
                node.start()
            settle(nodes, cluster)
            monitor.start()
            for number in range(kills):
                leading = settle(nodes, cluster)
                if number % 3 == 0:
                    leading.kill()
                    others = [node for node in nodes if node is not leading]
                    _, seconds = wait_for(lambda: primary(others), "no failover")
                    failovers.append(seconds)
                    leading.start()
                else:
                    leader = cluster.leader() or cluster.members[0]
                    followers = [it for it in cluster.members if it is not leader]
                    member = leader if number % 3 == 1 else choice.choice(followers)
                    member.kill()
                    time.sleep(choice.uniform(0.5, 5))
                    member.start()
                    if primary(nodes) is not leading:
                        monitor.violations.append(f"kill {number + 1}, of a member: the primary changed")
            settle(nodes, cluster)
        except TimeoutError as error:
            monitor.violations.append(str(error))
        finally:
            monitor.stopped.set()
            if monitor.is_alive():
                monitor.join()
            for node in nodes:
                if node.process is not None:
                    node.kill()
    return failovers, monitor.rounds, monitor.violations


def control():
    """Returns True if the monitor finds two nodes that accept writes."""
    class Primary:
        name = "control"

        def identity(self):
            return "now"

    monitor = PrimaryMonitor([Primary(), Primary()])
    monitor.look()
    return len(monitor.violations) == 1


def find_tools(root):
    """Installs Patroni and returns its programs and those of PostgreSQL."""
    versions = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not versions or shutil.which("psql") is None:
        raise Unavailable("PostgreSQL (apt-get install postgresql)")
    folder = root / f"patroni-{VERSION}"
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        call([*pip, f"patroni[etcd3]=={VERSION}", "psycopg[binary]"])
        (folder / "installed").touch()
    owner, user = pwd.getpwuid(os.getuid()).pw_name, []
    if os.getuid() == 0:
        # PostgreSQL refuses to run as root.
        owner, user = "postgres", ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    return {"bin": str(versions[-1].parent), "psql": str(versions[-1].parent / "psql"), "owner": owner, "user": user,
            "patroni": folder / "bin" / "patroni"}


def run(chosen, programs, root, kills):
    """Returns the lines of the result, and the number of failed expectations."""
    tools = find_tools(root)
    lines, failures, medians = [f"patroni {VERSION}, {kills} kills at each server:"], 0, {}
    if not control():
        return ["patroni: the monitor does not find two primaries"], 1
    for server in chosen:
        # A directory that the user of PostgreSQL may reach.
        directory = pathlib.Path(f"/tmp/dependents-patroni-{server}-{os.getpid()}")
        try:
            failovers, rounds, violations = exercise(server, programs[server], tools, directory, kills)
        finally:
            for log in directory.glob("*.log"):
                shutil.copy(log, root / f"patroni-{server}-{log.name}")
            shutil.rmtree(directory, ignore_errors=True)
        times = "none"
        if failovers:
            medians[server] = statistics.median(failovers)
            times = f"{len(failovers)}, median {medians[server]:.1f} s, longest {max(failovers):.1f} s"
        result = f"  {server}: failovers {times}; two primaries or lost primaries: {len(violations)} in {rounds} looks"
        print(result, flush=True)
        lines += [result, *(f"    {it}" for it in violations)]
        failures += len(violations)
    if len(medians) == 2 and medians["tenure"] > medians["etcd"] + LOOP_WAIT:
        lines.append("  the median failover is slower at tenure by more than one loop of Patroni")
        failures += 1
    return lines, failures
