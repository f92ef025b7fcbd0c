//! Tests of `tenure lock` and `tenure locks` at a member with TLS and client certificates.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::authority::authority;
use crate::killed::Killed;
use crate::shell::assert_fails_with;
use crate::skipped::report_skip;

/// A member process with TLS, which is killed when this value is dropped.
struct Sealed {
    _child: Killed,
    endpoint: String,
    folder: TempDir,
}

impl Sealed {
    /// Starts the member. Returns `None` if certificates cannot be created on this machine.
    fn start() -> Option<Sealed> {
        let folder = tempfile::tempdir().expect("a folder");
        let made = authority(folder.path(), "ca", "own");
        if made.and_then(|()| authority(folder.path(), "other", "stranger")).is_none() {
            report_skip("openssl");
            return None;
        }
        let line = "serve --listen-client-urls https://127.0.0.1:0 --cert-file own.pem --key-file \
                    own.key --trusted-ca-file ca.pem --data-dir data";
        let mut command = command(folder.path(), line);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a line").expect("text");
        let endpoint = format!("https://{}", line.split_once("https://").expect("a URL").1);
        Some(Sealed { _child: Killed(child), endpoint, folder })
    }

    fn tenure(&self, line: &str) -> Output {
        let line = line.replace("AT", &format!("--endpoints {}", self.endpoint));
        command(self.folder.path(), &line).output().expect("the command starts")
    }
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.stderr(Stdio::piped());
    command
}

const KNOWN: &str = "AT --cacert ca.pem --cert own.pem --key own.key";

#[test]
fn client_certificates_are_accepted() {
    let Some(sealed) = Sealed::start() else { return };
    let held = sealed.tenure(&format!("lock jobs/a {KNOWN} -- tenure-is-not-a-program"));
    assert_eq!(held.status.code(), Some(127), "{held:?}");
    let held = sealed.tenure(&format!("lock jobs/a {KNOWN} -- printenv TENURE_LOCK"));
    assert_eq!(String::from_utf8_lossy(&held.stdout), "jobs/a\n", "{held:?}");
    for line in ["locks ls", "member list", "snapshot save backup"] {
        let done = sealed.tenure(&format!("{line} {KNOWN}"));
        assert!(done.status.success(), "{line}: {done:?}");
    }
}

#[test]
fn unknown_certificates_are_rejected() {
    let Some(sealed) = Sealed::start() else { return };
    for (given, message) in [
        ("", "uses TLS"),
        ("--cacert missing.pem", "missing.pem"),
        ("--cacert own.key", "no certificate"),
        // The certificate of the member is not trusted.
        ("--cacert other.pem --cert own.pem --key own.key", "invalid peer certificate"),
    ] {
        let (lock, locks) = if message == "invalid peer certificate" { (120, 4) } else { (2, 2) };
        assert_fails_with(
            &sealed.tenure(&format!("lock jobs/a --timeout 9s AT {given} -- true")),
            lock,
            message,
        );
        assert_fails_with(&sealed.tenure(&format!("locks ls AT {given}")), locks, message);
    }
    let known = "--cert own.pem --key own.key";
    for line in [
        format!("locks ls AT --cacert other.pem {known}"),
        format!("lock jobs/a AT --cacert other.pem {known} -- true"),
    ] {
        let status = if line.starts_with("lock ") { 120 } else { 4 };
        let remedy = "(is its authority among the CA certificates?); use --cacert with the CA";
        assert_fails_with(&sealed.tenure(&line), status, remedy);
    }
    // The client certificate is not trusted by the member.
    for given in ["--cacert ca.pem", "--cacert ca.pem --cert stranger.pem --key stranger.key"] {
        let locks = sealed.tenure(&format!("locks ls AT {given}"));
        assert_eq!(locks.status.code(), Some(4), "{locks:?}");
    }
    let lock = sealed.tenure("lock jobs/a --timeout 9s AT --cacert ca.pem -- true");
    let locks = sealed.tenure("locks ls AT --cacert ca.pem");
    for (output, status) in [(lock, 120), (locks, 4)] {
        let remedy = "(does it require a client certificate?); use --cert and --key";
        assert_fails_with(&output, status, remedy);
    }
    let foreign_certificate = "--cacert ca.pem --cert stranger.pem --key stranger.key";
    let lock = sealed.tenure(&format!("lock jobs/a --timeout 9s AT {foreign_certificate} -- true"));
    assert_eq!(lock.status.code(), Some(120), "{lock:?}");
    assert_fails_with(&sealed.tenure("locks ls AT --cert own.pem"), 2, "--cacert");
}
