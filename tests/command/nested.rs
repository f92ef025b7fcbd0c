//! Tests of locks with nested names, `path` and `path/1`, at `tenure serve` and at etcd, with
//! clients of both.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::killed::Killed;
use crate::member::Member;
use crate::shell::{data, tenure, text};
use crate::skipped::report_skip;

const LIMIT: Duration = Duration::from_secs(120);

/// Starts an etcd. Returns its process, its folder and its client URL. If it is not installed,
/// prints a message and returns `None`.
pub(crate) fn etcd() -> Option<(Killed, TempDir, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let [clients, peers] =
        [(); 2].map(|()| format!("http://{}", tenure_runtime::ports::reserve_address()));
    let spawned = Command::new("etcd")
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
        .args(["--initial-cluster", &format!("default={peers}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(spawned) = spawned else {
        report_skip("etcd (Debian: etcd-server)");
        return None;
    };
    let server = Killed(spawned);
    let started = Instant::now();
    while !tenure(&format!("locks ls --endpoints {clients}")).status.success() {
        assert!(started.elapsed() < LIMIT, "etcd does not serve");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some((server, folder, clients))
}

/// A command that holds a lock while a file exists: the process of the command, and the file.
/// Dropping this value removes the file and waits until the command has ended.
struct Holder(Child, Option<NamedTempFile>);

impl Holder {
    fn start(command: &mut Command) -> Holder {
        let file = NamedTempFile::new().expect("a file");
        let script = "echo held; while [ -e \"$0\" ]; do sleep 0.05; done";
        command.args(["--", "sh", "-c", script]).arg(file.path());
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.expect("the command starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut line).expect("a line");
        assert_eq!(line, "held\n");
        Holder(child, Some(file))
    }

    fn tenure(at: &str, name: &str) -> Holder {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["lock", "--ttl", "60s", "--endpoints", at, name]);
        Holder::start(&mut command)
    }

    /// Acquires a lock with `etcdctl`, the client of etcd. Returns `None` if it is not installed.
    fn etcdctl(at: &str, name: &str) -> Option<Holder> {
        if Command::new("etcdctl").arg("version").output().is_err() {
            report_skip("etcdctl");
            return None;
        }
        let mut command = Command::new("etcdctl");
        let at = at.trim_start_matches("http://");
        command.env("ETCDCTL_API", "3").args(["--endpoints", at, "lock", name]);
        Some(Holder::start(&mut command))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.1.take());
        let started = Instant::now();
        while let Ok(None) = self.0.try_wait() {
            if started.elapsed() > LIMIT {
                let _ = self.0.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn lock(at: &str, options: &str) -> Option<i32> {
    tenure(&format!("lock --endpoints {at} --timeout 100s {options} -- true")).status.code()
}

fn attempt(at: &str, name: &str) -> Option<i32> {
    tenure(&format!("lock --endpoints {at} --try {name} -- true")).status.code()
}

fn names_are_independent(at: &str) {
    let inner = Holder::tenure(at, "path/1");
    assert_eq!((lock(at, "path"), attempt(at, "path")), (Some(0), Some(0)), "below is held");
    assert_eq!(attempt(at, "path/1"), Some(120));
    let report = data(&format!("locks ls --endpoints {at}"), 0);
    let locks = report["locks"].as_array().expect("locks");
    let names: Vec<&Value> = locks.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, [&json!("path/1")], "{report:#}");

    let outer = Holder::tenure(at, "path");
    assert_eq!((lock(at, "path/2"), attempt(at, "path/2/3")), (Some(0), Some(0)));
    assert_eq!(attempt(at, "path"), Some(120));
    let report = data(&format!("locks ls --endpoints {at}"), 0);
    let of = |name: &str| {
        let locks = report["locks"].as_array().expect("locks");
        locks.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
    };
    let holder = |name: &str| {
        let lock = of(name);
        assert_eq!(lock["holders"].as_array().map(Vec::len), Some(1), "{report:#}");
        assert_eq!(lock["waiting"], 0, "{report:#}");
        lock["holders"][0]["lease"].clone()
    };
    assert_ne!(holder("path"), holder("path/1"));
    assert_eq!((&of("path")["nested"], &of("path/1")["nested"]), (&json!(1), &json!(0)));
    let table = text(&format!("locks ls --endpoints {at}"), 0);
    assert!(table.contains("1 key is of locks named below path/, such as path/1"), "{table}");
    let why = text(&format!("locks why path --endpoints {at}"), 0);
    assert!(why.contains("a client of etcd that asks for path waits for them too"), "{why}");
    drop((inner, outer));

    // A client of etcd and a client of Tenure use the same queue for the same name.
    let Some(theirs) = Holder::etcdctl(at, "path") else { return };
    assert_eq!((attempt(at, "path"), lock(at, "path/1")), (Some(120), Some(0)));
    drop(theirs);
    let ours = Holder::tenure(at, "path");
    let mut waits = Command::new("etcdctl");
    waits.env("ETCDCTL_API", "3").args(["--endpoints", at.trim_start_matches("http://")]);
    waits.args(["lock", "path", "--", "echo", "held"]);
    let waits = std::thread::spawn(move || waits.output().expect("it runs"));
    let started = Instant::now();
    while data(&format!("locks ls --endpoints {at}"), 0)["locks"][0]["waiting"] != 1 {
        assert!(started.elapsed() < LIMIT, "the client of etcd does not queue");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!waits.is_finished());
    drop(ours);
    let ended = waits.join().expect("no panic");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "held\n", "{ended:?}");
}

#[test]
fn nested_names_are_independent_at_tenure() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    member.ask("/v3/kv/put", &json!({ "key": "YQ==", "value": "MQ==" }));
    names_are_independent(&format!("http://{}", member.address));
}

#[test]
fn nested_names_are_independent_at_etcd() {
    let Some((_server, _folder, at)) = etcd() else { return };
    names_are_independent(&at);
}
