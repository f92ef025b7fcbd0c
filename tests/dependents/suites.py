"""Test suites of etcd's clients: each is installed from a package registry and run unchanged.

A suite returns the outcome of each of its tests by name: `passed`, `failed` or `skipped`.
"""

import json, os, pathlib, re, shutil, subprocess, sys, tarfile, urllib.parse, xml.etree.ElementTree

from proxy import TlsProxy

HERE = pathlib.Path(__file__).resolve().parent


class Unavailable(Exception):
    """The suite cannot be installed on this machine; the message names what it needs."""


def call(words, cwd=None, env=None, timeout=900):
    """Runs a command of an installation, and raises Unavailable with its last lines if it fails."""
    try:
        done = subprocess.run([str(it) for it in words], cwd=cwd, env=env, timeout=timeout, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, words[:4]))} …: {done.stdout[-800:]}")
    return done.stdout


def run_tests(words, log, cwd=None, env=None, timeout=1800):
    """Runs a test suite with its output in the file `log`. Its status says only that a test failed."""
    with open(log, "w") as output:
        subprocess.run([str(it) for it in words], cwd=cwd, env=dict(os.environ, **(env or {})), timeout=timeout,
                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)


def of_junit(path):
    """Returns the outcomes in a report of pytest."""
    outcomes = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        tags = {child.tag for child in case}
        failed = bool(tags & {"failure", "error"})
        outcome = "failed" if failed else "skipped" if "skipped" in tags else "passed"
        name = f"{case.get('classname', '').split('.')[-1]}.{case.get('name')}"
        # A test that passed but whose teardown failed has two entries.
        if outcomes.get(name) != "failed":
            outcomes[name] = outcome
    return outcomes


class Suite:
    """A suite with its own directory below `root`, where it is installed once."""

    name = version = ""
    # Number of members of the cluster that the suite runs against.
    members = 3
    # True if the suite may run at two servers at the same time.
    may_overlap = False

    def __init__(self, root):
        self.directory = pathlib.Path(root).resolve() / f"{self.name}-{self.version}"

    def prepare(self):
        """Installs the suite, unless an earlier run did."""
        complete = self.directory / "installed"
        if complete.exists():
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.install()
        complete.touch()

    def install(self):
        raise NotImplementedError

    def run(self, cluster, log, only=None):
        """Returns the outcomes of all tests, or of those in `only`."""
        raise NotImplementedError


class Python(Suite):
    """A suite of a Python package, from its source distribution, in a virtual environment."""

    requirements = ()
    archive = folder = ""

    @property
    def python(self):
        return self.directory / "venv" / "bin" / "python"

    def install(self):
        call([sys.executable, "-m", "venv", self.directory / "venv"])
        pip = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        call([*pip, "install", *self.requirements])
        # The source alone: the package itself is installed from its wheel or built from this file.
        call([*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", self.directory,
              f"{self.archive}=={self.version}"])
        source, = self.directory.glob("*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(self.directory, filter="data")

    @property
    def source(self):
        return self.directory / f"{self.archive}-{self.version}"

    def pytest(self, log, env, paths, only):
        report = log.with_suffix(".xml")
        report.unlink(missing_ok=True)
        words = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *paths]
        if only:
            # Names of parametrized tests are not expressions of -k.
            words += ["-k", " or ".join(sorted({re.split(r"[\[(]", it)[0].split(".")[-1] for it in only}))]
        run_tests(words, log, self.source, env)
        if not report.exists():
            raise Unavailable(f"pytest wrote no report: see {log}")
        outcomes = of_junit(report)
        return {name: it for name, it in outcomes.items() if not only or name in only}


class Etcd3(Python):
    """The tests of python-etcd3, which call `etcdctl` beside the library and stop members by their names."""

    name, archive, version = "python-etcd3", "etcd3", "0.12.0"
    # The releases with which the tests were written, as far as a current Python has them.
    requirements = ("etcd3==0.12.0", "protobuf<3.21", "tenacity==6.1.0", "pytest<8", "hypothesis==4.57.1", "mock")

    def run(self, cluster, log, only=None):
        # Tests without a majority stop the members 1 and 2.
        member = cluster.members[-1]
        env = {"PYTHON_ETCD_HTTP_URL": member.url, "TEST_ETCD_VERSION": "v3.5.1",
               "DEFAULT_ETCD_PORT": str(member.client_port), "PYTHONPATH": str(HERE),
               "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python", "PYTHONDONTWRITEBYTECODE": "1"}
        return self.pytest(log, env, ["-p", "etcd3_port", "tests"], only)


class Aetcd(Python):
    """The integration tests of aetcd, the client for asyncio."""

    name = archive = "aetcd"
    version = "1.0.0"
    requirements = ("aetcd==1.0.0", "pytest==9.0.3", "pytest-asyncio==1.3.0", "pytest-mock==3.15.1", "pytest-cov==7.1.0")

    def run(self, cluster, log, only=None):
        env = {"TEST_ETCD_HTTP_URL": cluster.members[0].url}
        return self.pytest(log, env, ["tests/integration", "--with-cluster"], only)


class Etcd3gw(Python):
    """The tests of etcd3gw, the client over JSON."""

    name = archive = "etcd3gw"
    version = "2.7.0"
    may_overlap = True
    requirements = ("etcd3gw==2.7.0", "pytest", "testtools", "oslotest", "pifpaf", "requests", "futurist")

    def run(self, cluster, log, only=None):
        member = cluster.members[0]
        env = {"TOOZ_TEST_HTTP_URL": member.url, "TOOZ_TEST_ETCD_PORT": str(member.client_port)}
        return self.pytest(log, env, ["etcd3gw/tests"], only)


class Tooz(Python):
    """The tests of OpenStack's tooz with its driver for etcd."""

    name = archive = "tooz"
    version = "9.1.0"
    requirements = ("tooz[etcd3gw,ipc,memcached,redis]==9.1.0", "pytest", "testtools", "fixtures", "ddt", "requests")

    def run(self, cluster, log, only=None):
        address = urllib.parse.urlparse(cluster.members[0].url).netloc
        env = {"TOOZ_TEST_URL": f"etcd3+http://{address}?api_version=v3"}
        paths = [f"tooz/tests/{it}" for it in ("test_coordination.py", "test_partitioner.py", "drivers/test_etcd3gw.py")]
        return self.pytest(log, env, paths, only)


class Node(Suite):
    """The tests of etcd3 for Node. Release 1.0.2 is the last package that contains them.

    They connect over TLS. A proxy ends TLS in front of either server, so that the suite also runs with
    a program that was built without it.
    """

    name, version = "node-etcd3", "1.1.2"
    packages = ("etcd3@1.1.2", "etcd3-tests@npm:etcd3@1.0.2", "mocha@8", "chai@4", "chai-as-promised@7", "chai-subset@1",
                "sinon@9")

    @property
    def tests(self):
        return self.directory / "node_modules" / "etcd3" / "lib" / "test"

    @property
    def certificates(self):
        return self.directory / "node_modules" / "etcd3" / "src" / "test" / "certs"

    def install(self):
        npm = shutil.which("npm")
        if npm is None:
            raise Unavailable("node and npm")
        (self.directory / "package.json").write_text('{"private": true}')
        call([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *self.packages], self.directory)
        packages = self.directory / "node_modules"
        shutil.copytree(packages / "etcd3-tests" / "lib" / "src" / "test", self.tests)
        make_certificates(self.certificates / "certs", self.certificates / "private")

    def run(self, cluster, log, only=None):
        report = self.directory / "report.json"
        report.unlink(missing_ok=True)
        words = ["node", self.directory / "node_modules" / "mocha" / "bin" / "mocha", "--exit", "--timeout", "20000",
                 "--reporter", HERE / "mocha_report.js", "--file", self.tests / "_setup.js",
                 *sorted(self.tests.glob("*.test.js"))]
        if only:
            words += ["--grep", "|".join(f"^{re.escape(it)}$" for it in sorted(only))]
        keys = [self.certificates / it for it in ("certs/etcd0.localhost.crt", "private/etcd0.localhost.key")]
        with TlsProxy(cluster.members[0].client_port, *keys) as port:
            env = {"ETCD_ADDR": f"127.0.0.1:{port}", "ETCD_VERSION": "3.5.1", "MOCHA_REPORT": str(report)}
            run_tests(words, log, self.directory, env)
        if not report.exists():
            raise Unavailable(f"mocha wrote no report: see {log}")
        return json.loads(report.read_text())


class Rust(Suite):
    """The tests of the crate etcd-client. They need cargo, a C compiler and protoc."""

    name, version = "rust-etcd-client", "0.19.0"

    def install(self):
        for program in ("cargo", "protoc"):
            if shutil.which(program) is None:
                raise Unavailable(f"{program} (protoc: apt-get install protobuf-compiler)")
        (self.directory / "src").mkdir()
        (self.directory / "src" / "lib.rs").touch()
        (self.directory / "Cargo.toml").write_text(
            "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n"
            f"[dependencies]\netcd-client = \"={self.version}\"\n")
        call(["cargo", "vendor", "--quiet", "vendor"], self.directory)
        shutil.copytree(self.directory / "vendor" / "etcd-client", self.source)
        shutil.rmtree(self.directory / "vendor")
        with open(self.source / "Cargo.toml", "a") as manifest:
            manifest.write("\n[workspace]\n")
        call(["cargo", "test", "--quiet", "--no-run"], self.source, self.cargo_env())

    @property
    def source(self):
        return self.directory / "etcd-client"

    def cargo_env(self):
        return dict(os.environ, CARGO_TARGET_DIR=str(self.directory / "target"))

    def run(self, cluster, log, only=None):
        # The address is a constant of the tests.
        for path in (self.source / "tests").rglob("*.rs"):
            address = f"localhost:{cluster.members[0].client_port}"
            path.write_text(re.sub(r"localhost:\d+", address, path.read_text()))
        words = ["cargo", "test", "--tests", "--no-fail-fast", "--", "--test-threads=1"]
        run_tests(words + sorted(only or []), log, self.source, {"CARGO_TARGET_DIR": str(self.directory / "target")})
        words = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
        found = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", open(log).read(), re.M)
        if not found:
            raise Unavailable(f"no test ran: see {log}")
        return {name: words[word] for name, word in found}


SUITES = {it.name: it for it in (Tooz, Etcd3gw, Etcd3, Aetcd, Node, Rust)}


def make_certificates(public, private):
    """Makes an authority and a certificate for localhost, where the tests of Node look for them."""
    public.mkdir(parents=True, exist_ok=True)
    private.mkdir(parents=True, exist_ok=True)
    authority = [public / "ca.crt", private / "ca.key"]
    call(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=test authority",
          "-keyout", authority[1], "-out", authority[0]])
    key, request = private / "etcd0.localhost.key", private / "etcd0.localhost.csr"
    call(["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=etcd0.localhost", "-keyout", key,
          "-out", request])
    names = private / "names"
    names.write_text("subjectAltName=DNS:localhost,DNS:etcd0.localhost,IP:127.0.0.1\n")
    call(["openssl", "x509", "-req", "-days", "3650", "-in", request, "-CA", authority[0], "-CAkey", authority[1],
          "-CAcreateserial", "-extfile", names, "-out", public / "etcd0.localhost.crt"])
