//! `tenure lock` and `tenure elect`, at a member that is a process as well.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::shell::said;

/// Whatever is to happen has happened by then.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A member that is killed when this is dropped.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) address: String,
    _folder: TempDir,
}

impl Service {
    pub(crate) fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["serve", "--listen-client-urls", "http://127.0.0.1:0", "--data-dir"])
            .arg(folder.path().join("data"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let line = lines(&mut child).next().expect("a line").expect("text");
        let address = line.split_once("http://").expect("an address").1.to_owned();
        Service { child, address, _folder: folder }
    }

    /// A wrapper around a script of the shell.
    pub(crate) fn wrapper(&self, options: &str, script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(options.split(' '))
            .args(["--endpoints", &self.address, "--", "sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, options: &str, script: &str) -> Output {
        self.wrapper(options, script).output().expect("the command starts")
    }

    /// One that runs, and has said a line.
    pub(crate) fn running(&self, options: &str, script: &str) -> (Child, String) {
        let mut child = self.wrapper(options, script).spawn().expect("the command starts");
        let line = lines(&mut child).next().expect("a line").expect("text");
        (child, line)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.post_as(path, body, "")
    }

    /// With lines of a head that say who asks.
    fn post_as(&self, path: &str, body: &str, who: &str) -> String {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.0\r\n{who}content-length: {length}\r\n\r\n");
        self.told(&(head + body))
    }

    fn watchers(&self) -> usize {
        let told = self.told("GET /metrics HTTP/1.0\r\n\r\n");
        let count = told.lines().find_map(|line| line.strip_prefix("tenure_watchers "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    fn told(&self, asked: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(asked.as_bytes()).expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        told
    }

    /// Who holds the lock `a`, or waits for it: the keys from `a/` to `a0`.
    pub(crate) fn asking_for_a(&self) -> usize {
        self.post("/v3/kv/range", r#"{"key":"YS8=","range_end":"YTA="}"#).matches("\"key\"").count()
    }

    pub(crate) fn leases(&self) -> usize {
        self.post("/v3/lease/leases", "{}").matches("\"ID\"").count()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().expect("its output")).lines()
}

pub(crate) fn signal(name: &str, id: &str) -> bool {
    let sent = Command::new("kill").args([name, id]).stderr(Stdio::null()).status();
    sent.expect("kill").success()
}

/// Whether a process is there, and does not only wait to be buried.
fn lives(id: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[track_caller]
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The line that it said, and its status.
#[track_caller]
pub(crate) fn ended(child: Child) -> (i32, String) {
    let Output { status, stderr, .. } = child.wait_with_output().expect("an end");
    (status.code().expect("a status"), String::from_utf8(stderr).expect("text"))
}

#[test]
fn the_command_ends_as_it_would_by_itself_and_nothing_is_left() {
    let service = Service::start();
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill $$", 143)] {
        let output = service.run("lock jobs/nightly", script);
        assert_eq!(output.status.code(), Some(status), "{script}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{script}");
    }
    let output = service.run("lock jobs/nightly", "echo $TENURE_LOCK; echo $TENURE_FENCE");
    let text = String::from_utf8(output.stdout).expect("text");
    let (name, fence) = text.trim().split_once('\n').expect("two lines");
    assert_eq!(name, "jobs/nightly");
    assert!(fence.parse::<u64>().expect("a number") > 1);
    let mut command = service.wrapper("lock a", "cat");
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the command starts");
    child.stdin.take().expect("input").write_all(b"typed").expect("it is read");
    assert_eq!(child.wait_with_output().expect("an end").stdout, b"typed");
    let mut missing = Command::new(env!("CARGO_BIN_EXE_tenure"));
    missing.args(["lock", "a", "--endpoints", &service.address, "--", "/no/such/command"]);
    assert_eq!(missing.output().expect("it starts").status.code(), Some(127));
    assert_eq!(service.leases(), 0, "each session was closed");
}

#[test]
fn what_is_not_acquired_starts_nothing_and_has_a_status_of_its_own() {
    let service = Service::start();
    let (mut holder, _) = service.running("lock a", "echo in; exec sleep 60");
    for options in ["lock --try a", "lock --timeout 5s a", "elect --timeout 5s a"] {
        let refused = service.run(options, "echo started");
        let says = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), &refused.stdout[..]), (Some(120), &b""[..]), "{says}");
        assert_eq!(
            says,
            "tenure: `a` was not acquired: it is another's; the command was not started\n"
        );
    }
    // Who is told to end while it waits leaves the queue.
    let waits = service.wrapper("lock a", "echo started").spawn().expect("it starts");
    until(|| service.asking_for_a() == 2);
    assert!(signal("-TERM", &waits.id().to_string()));
    assert_eq!(ended(waits).0, 143);
    assert_eq!(service.asking_for_a(), 1);
    assert_eq!(service.leases(), 1);
    assert!(signal("-TERM", &holder.id().to_string()));
    assert_eq!(holder.wait().expect("an end").code(), Some(143), "it was passed on");
    let nobody = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["lock", "a", "--endpoints", "127.0.0.1:1", "--", "true"])
        .output()
        .expect("it starts");
    assert_eq!(nobody.status.code(), Some(120));
}

#[test]
fn a_signal_is_the_commands() {
    let service = Service::start();
    // What the shell runs is sent it too, and the shell would say so.
    let script = "exec 2>/dev/null; trap 'exit 5' USR1; echo up; while :; do sleep 0.02; done";
    let (wrapper, _) = service.running("lock a", script);
    assert!(signal("-USR1", &wrapper.id().to_string()));
    assert_eq!(ended(wrapper), (5, String::new()));
}

#[test]
fn a_command_is_ended_before_the_lease_is_when_nothing_is_heard() {
    let service = Service::start();
    let (wrapper, id) =
        service.running("lock --ttl 2s a", "trap '' TERM; echo $$; while :; do sleep 0.02; done");
    assert!(signal("-STOP", &service.child.id().to_string()));
    let (status, says) = ended(wrapper);
    assert_eq!(status, 121, "{says}");
    assert!(says.starts_with("tenure: `a` was lost: "), "{says}");
    assert!(!lives(&id), "it would not end when it was asked to");
}

#[test]
fn a_command_whose_lock_is_taken_away_is_killed() {
    let service = Service::start();
    let (wrapper, id) = service.running("lock a", "echo $$; exec sleep 60");
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
    let (status, says) = ended(wrapper);
    assert_eq!((status, lives(&id)), (121, false), "{says}");
    assert_eq!(says, "tenure: `a` was lost: its key was deleted; the command was ended\n");
}

#[test]
fn command_has_ended_when_a_stopped_wrapper_loses_the_lease() {
    let service = Service::start();
    let (wrapper, id) = service.running("lock --ttl 2s a", "echo $$; exec sleep 60");
    let wrappers = wrapper.id().to_string();
    assert!(signal("-STOP", &wrappers));
    until(|| service.leases() == 0);
    assert!(!lives(&id) && signal("-CONT", &wrappers));
    assert_eq!(ended(wrapper).0, 121);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_does_not_outlive_a_wrapper_that_is_killed() {
    let service = Service::start();
    let (mut wrapper, id) = service.running("lock a", "echo $$; exec sleep 60");
    wrapper.kill().expect("killed");
    wrapper.wait().expect("an end");
    until(|| !lives(&id));
}

#[test]
fn who_looks_on_sees_who_leads_and_that_nobody_does() {
    let service = Service::start();
    let mut observer = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["elect", "--observe", "boss", "--endpoints", &service.address])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut seen = lines(&mut observer).map(|line| {
        let line = line.expect("text");
        assert!(!line.contains(['\u{202e}', '\u{9b}']), "nor does it paint: {line:?}");
        serde_json::from_str::<Value>(&line).expect("a line of JSON")
    });
    assert_eq!(seen.next().expect("a line")["leader"], Value::Null);
    let value = "host-7\u{202e}\u{9b}2J";
    // An observer may miss a leader that has gone before it looks.
    let goes_on = tempfile::NamedTempFile::new().expect("a file");
    let script = format!(
        "echo $TENURE_FENCE; while [ -e {} ]; do sleep 0.05; done; exit 3",
        goes_on.path().display()
    );
    let (mut elected, fence) = service.running(&format!("elect --value {value} boss"), &script);
    let led = seen.next().expect("a line");
    drop(goes_on);
    assert_eq!(elected.wait().expect("an end").code(), Some(3));
    assert_eq!((&led["leader"], &led["election"]), (&value.into(), &"boss".into()));
    assert_eq!(led["fence"].to_string(), fence.trim());
    assert_eq!(seen.next().expect("a line")["leader"], Value::Null);
    assert!(signal("-INT", &observer.id().to_string()));
    assert_eq!(observer.wait().expect("an end").code(), Some(0));
}

#[test]
fn it_queues_with_clients_of_etcd() {
    let service = Service::start();
    let etcdctl = |command: &str| {
        let mut client = Command::new("etcdctl");
        client.env("ETCDCTL_API", "3").args(["--endpoints", &service.address, "lock", "a"]);
        client.args(["--", "sh", "-c", command]).stdout(Stdio::piped()).stderr(Stdio::null());
        client.spawn()
    };
    let goes_on = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("echo in; while [ -e {} ]; do sleep 0.05; done", goes_on.path().display());
    let Ok(mut theirs) = etcdctl(&script) else {
        eprintln!("skipped: needs etcdctl");
        return;
    };
    assert_eq!(lines(&mut theirs).next().expect("a line").expect("text"), "in");
    assert_eq!(service.run("lock --try a", "true").status.code(), Some(120));
    drop(goes_on);
    assert_eq!(service.run("lock a", "exit 9").status.code(), Some(9));
    theirs.wait().expect("an end");
}

#[test]
fn nobody_asks_for_a_lock_without_a_name() {
    for line in [["locks", "show", ""], ["locks", "queue", ""], ["locks", "why", ""]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        said(&command.args(line).output().expect("the command starts"), 2, "<NAME> is empty");
    }
}

#[test]
fn what_is_no_endpoint_is_refused_by_whoever_asks() {
    for (verb, what) in [("lock", "a -- true"), ("locks ls", ""), ("member list", "")] {
        for endpoint in ["http://", "http://127.0.0.1:port"] {
            let line = format!("{verb} --endpoints {endpoint} {what}");
            said(&crate::shell::tenure(&line), 2, "is no endpoint such as http://");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    for (line, says) in [
        ("lock a", "<COMMAND>"),
        ("elect a", "<COMMAND>"),
        ("lock --ttl 500ms a -- true", "--ttl is at least 1s"),
        ("lock --ttl 10s --grace 6s a -- true", "--grace is at most half of --ttl"),
        ("lock --try --timeout 1s a -- true", "--try excludes --timeout"),
        ("lock --endpoints ftp://foo a -- true", "`ftp://foo` is no endpoint such as http://"),
        ("lock --endpoints https://127.0.0.1:1 a -- true", "--cacert says whose does"),
        ("elect --observe --endpoints ftp://foo a", "`ftp://foo` is no endpoint"),
        ("lock --user bob a -- true", "say NAME:PASSWORD"),
    ] {
        said(&crate::shell::tenure(line), 2, says);
    }
    for line in ["lock a -- true", "elect --observe a", "locks ls", "member list"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(line.split(' ')).env("TENURE_USER", "bob");
        said(&command.output().expect("the command starts"), 2, "TENURE_USER");
    }
}

/// One where `bob` may do anything below `jobs/`.
fn closed() -> Service {
    let service = Service::start();
    // From `jobs/` up to `jobs0`.
    let permission = r#"{"name":"jobs","perm":
        {"permType":"READWRITE","key":"am9icy8=","range_end":"am9iczA="}}"#;
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/add", r#"{"name":"bob","password":"one"}"#),
        ("role/add", r#"{"name":"jobs"}"#),
        ("role/grant", permission),
        ("user/grant", r#"{"user":"bob","role":"jobs"}"#),
        ("enable", "{}"),
    ] {
        let told = service.post(&format!("/v3/auth/{path}"), body);
        assert!(told.contains(" 200 "), "{path}: {told}");
    }
    service
}

#[test]
fn a_user_holds_what_they_may_hold_and_others_are_told_why_not() {
    let service = closed();
    let held = service.run("lock --user bob:one jobs/nightly", "echo inside");
    assert_eq!((held.status.code(), &held.stdout[..]), (Some(0), &b"inside\n"[..]));
    for (options, why) in [
        ("lock --user bob:one other", "permission denied"),
        ("lock --user bob:two jobs/nightly", "authentication failed"),
        ("elect jobs/office", "user name is empty; say --user NAME:PASSWORD"),
    ] {
        let refused = service.run(options, "echo inside");
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(120), "{options}: {text}");
        assert!(text.contains(why), "{options}: {text}");
    }
}

#[test]
fn a_user_who_loses_a_right_waits_no_longer_and_stops_nobody() {
    let service = closed();
    let (root, _) = service.running("lock --user root:secret jobs/x", "echo in; exec sleep 60");
    let mut waits = service.wrapper("lock --ttl 2s --user bob:one jobs/x", "echo inside");
    let mut waits = waits.spawn().expect("it starts");
    // One watches its own key, the other that of who is ahead: the same.
    until(|| service.watchers() == 2);
    let named = r#"{"name":"root","password":"secret"}"#;
    let told = service.post("/v3/auth/authenticate", named);
    let token = told.split("\"token\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let root_asks = format!("authorization: {}\r\n", token.expect("a token"));
    let revoked =
        service.post_as("/v3/auth/user/revoke", r#"{"name":"bob","role":"jobs"}"#, &root_asks);
    assert!(revoked.contains(" 200 "), "{revoked}");
    assert!(signal("-TERM", &root.id().to_string()));
    let begun = Instant::now();
    while waits.try_wait().expect("a child").is_none() {
        if begun.elapsed() > LONG {
            let _ = waits.kill();
            panic!("it waits on");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (status, says) = ended(waits);
    assert_eq!(status, 120, "{says}");
    assert!(says.contains("permission denied"), "{says}");
    assert_eq!(ended(root).0, 143);
    let next = service.run("lock --timeout 30s --user root:secret jobs/x", "echo inside");
    assert_eq!((next.status.code(), &next.stdout[..]), (Some(0), &b"inside\n"[..]));
}
