#!/usr/bin/env python3
"""Lints the chart, validates what it renders, and compares tenure.yaml with it.

    pip install kubernetes-validate pyyaml
    HELM=/path/to/helm packaging/kubernetes/check.py           # --write updates tenure.yaml

Helm renders; the schemas are those of Kubernetes' own API description, in strict mode. Status 0: no findings.
"""

import os, pathlib, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
# The oldest version that Chart.yaml accepts, and a new one.
VERSIONS = ("1.25", "1.31")
SECURED = ["--set", "peerKeys.secretName=tenure-keys,tls.secretName=tenure-tls"]
# Values with which the chart must render.
ACCEPTED = {
    "secured": SECURED,
    "certificates of clients": SECURED + ["--set", "tls.clientAuthentication=true"],
    "insecure": ["--set", "insecure=true"],
    "one member": ["--set", "insecure=true,replicas=1"],
    "all values": SECURED + ["--set", "replicas=5,storage.className=fast,extraArguments={--snapshot-count=5000},"
                             "nodeSelector.disk=ssd,resources=null"],
}
# Values that must be rejected, with a part of the message.
REJECTED = {
    "no secrets": ([], "insecure=true"),
    "keys alone": (["--set", "peerKeys.secretName=tenure-keys"], "insecure=true"),
    "four members": (["--set", "insecure=true,replicas=4"], "replicas"),
    "an unknown value": (["--set", "insecure=true,replica=3"], "replica"),
    "client certificates without TLS": (["--set", "insecure=true,tls.clientAuthentication=true"], "tls.secretName"),
}


def helm(*words):
    return subprocess.run([HELM, *words], capture_output=True, text=True, cwd=HERE)


def rendered(values):
    return helm("template", "tenure", "chart", "--namespace", "tenure", *values)


def findings(title, values):
    """Returns the findings about one set of values."""
    done = rendered(values)
    if done.returncode != 0:
        return [f"{title}: {done.stderr.strip()}"]
    found = []
    for document in filter(None, yaml.safe_load_all(done.stdout)):
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                found.append(f"{title}: {document['kind']}, Kubernetes {version}: {error.message}")
    return found


def broken_manifest_is_found():
    """Returns True if the validator rejects a manifest with a field that does not exist."""
    document = next(yaml.safe_load_all(rendered(SECURED).stdout))
    document["spec"]["nonsense"] = 1
    try:
        kubernetes_validate.validate(document, VERSIONS[0], strict=True)
    except kubernetes_validate.ValidationError:
        return True
    return False


def main():
    found = []
    for title, values in ACCEPTED.items():
        found += findings(title, values)
        lint = helm("lint", "--strict", "chart", *values)
        found += [f"{title}: helm lint: {lint.stdout}{lint.stderr}"] if lint.returncode else []
    for title, (values, message) in REJECTED.items():
        done = rendered(values)
        if done.returncode == 0 or message not in done.stderr:
            found.append(f"{title}: not rejected with {message!r}: {done.stderr.strip()}")
    if not broken_manifest_is_found():
        found.append("control: the validator accepts a field that does not exist")
    plain = ("# Three members with keys and TLS, made from the chart by packaging/kubernetes/check.py --write.\n"
             "# docs/install.md describes the two secrets.\n" + rendered(SECURED).stdout)
    if "--write" in sys.argv[1:]:
        (HERE / "tenure.yaml").write_text(plain)
    elif (HERE / "tenure.yaml").read_text() != plain:
        found.append("tenure.yaml differs from the chart: run packaging/kubernetes/check.py --write")
    print("\n".join(found) or f"{len(ACCEPTED)} renderings are valid, {len(REJECTED)} mistakes are rejected")
    return 1 if found else 0


if __name__ == "__main__":
    HELM = os.environ.get("HELM") or shutil.which("helm")
    try:
        import kubernetes_validate, yaml
    except ImportError:
        HELM = None
    if HELM is None:
        print("skipped: needs helm, and kubernetes-validate and pyyaml of Python")
        sys.exit(0)
    sys.exit(main())
