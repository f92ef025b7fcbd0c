//! TLS between a member and the clients `openssl` and `etcdctl`.

use std::path::Path;
use std::process::{Command, Output};

use crate::authority::authority;
use crate::limits::metric;
use crate::member::{Files, Member, at_the_same_time, eventually};
use crate::skipped::report_skip;

/// Arguments of a client that the member must reject.
const REFUSED_ARGUMENTS: &str = "get refused";

/// Runs `etcdctl` in `folder`, with the options `given`, which name the certificates to use.
/// Returns `None` if `etcdctl` is not installed.
fn etcdctl(folder: &Path, member: &Member, given: &str, arguments: &str) -> Option<Output> {
    let endpoint = format!("https://{}", member.address);
    // A rejected client retries until its timeout.
    let seconds = if arguments == REFUSED_ARGUMENTS { 3 } else { 30 };
    let timeouts = format!("--dial-timeout {seconds}s --command-timeout {seconds}s");
    let line = format!("--endpoints {endpoint} {timeouts} {given} {arguments}");
    let mut command = Command::new("etcdctl");
    command.env("ETCDCTL_API", "3").args(line.split(' ')).current_dir(folder).output().ok()
}

/// A member with TLS rejects clients without a certificate, and reads changed files again. The test
/// reads metrics at the second port of the member, which has no TLS.
#[test]
fn tls_requires_a_client_certificate_and_reloads_files() {
    let files = Files::of(1);
    let folder = files.path();
    if authority(folder, "ca", "own")
        .and_then(|()| authority(folder, "other", "stranger"))
        .is_none()
    {
        return report_skip("openssl");
    }
    let at = |name: &str| folder.join(name).display().to_string();
    files.edit(0, |text| {
        text.replace("http://127.0.0.1:0", "https://127.0.0.1:0,http://127.0.0.1:0")
    });
    for (option, name) in
        [("cert-file", "own.pem"), ("key-file", "own.key"), ("trusted-ca-file", "ca.pem")]
    {
        files.configure(0, &format!("{option} = {:?}", at(name)));
    }
    let member = files.start(0);
    let known = "--cacert ca.pem --cert own.pem --key own.key";
    let Some(put) = etcdctl(folder, &member, known, "put a 1") else {
        return report_skip("etcdctl (Debian: etcd-client)");
    };
    let response = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(put.status.success(), "{}", response(&put));
    let plain = member.second.expect("a second address");
    let refused = metric(plain, "tenure_connections_rejected_total");
    let strangers = ["--cacert ca.pem", "--cacert ca.pem --cert stranger.pem --key stranger.key"];
    at_the_same_time(strangers, |given| {
        let output = etcdctl(folder, &member, given, REFUSED_ARGUMENTS).expect("etcdctl");
        assert!(!output.status.success(), "{given}");
    });
    let now = || metric(plain, "tenure_connections_rejected_total");
    eventually("both are counted", || now() >= refused + 2);
    let get = etcdctl(folder, &member, known, "get a").expect("etcdctl");
    assert_eq!(String::from_utf8_lossy(&get.stdout), "a\n1\n");
    // New connections use the new files.
    for kind in ["pem", "key"] {
        std::fs::copy(at(&format!("stranger.{kind}")), at(&format!("own.{kind}")))
            .expect("a write");
    }
    std::fs::copy(at("other.pem"), at("ca.pem")).expect("a write");
    let anew = "--cacert other.pem --cert stranger.pem --key stranger.key";
    let get = || etcdctl(folder, &member, anew, "get a").expect("etcdctl");
    eventually("the files are reloaded", || get().status.success());
}
