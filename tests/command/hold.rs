//! Tests of `tenure lock` and `tenure elect` with a real member process.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::killed::Killed;
use crate::member::Member;
use crate::process_state::state_of;
use crate::shell::assert_fails_with;
use crate::skipped::report_skip;

pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) struct Service {
    pub(crate) member: Member,
    _folder: TempDir,
}

impl Service {
    pub(crate) fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        Service::of(Member::start_in(folder.path()), folder)
    }

    /// Creates a service of this member. `folder` contains the data of the member.
    pub(crate) fn of(member: Member, folder: TempDir) -> Service {
        Service { member, _folder: folder }
    }

    /// Returns a wrapper that runs a shell script. The wrapper starts with the default actions for
    /// SIGINT and SIGQUIT. The test itself may ignore these signals, for instance if it runs in the
    /// background of a script. The wrapper has a process group of its own, so that it does not use
    /// the terminal in which the test may run.
    ///
    /// If the options give no time to live, the lease lasts 60 s, so that it does not expire during
    /// a test.
    pub(crate) fn wrapper(&self, options: &str, script: &str) -> Command {
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT,QUIT", env!("CARGO_BIN_EXE_tenure")])
            .args(options.split(' '))
            .args((!options.contains("--ttl")).then_some("--ttl=60s"))
            .args(["--endpoints", &self.member.address, "--", "sh", "-c", script])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, options: &str, script: &str) -> Output {
        Killed(self.wrapper(options, script).spawn().expect("the command starts"))
            .wait_with_output()
    }

    /// Starts a wrapper of a script, and waits until the script has printed a line. Returns the
    /// wrapper and the line.
    pub(crate) fn running(&self, options: &str, script: &str) -> (Killed, String) {
        let child = self.wrapper(options, script).spawn().expect("the command starts");
        let mut child = Killed(child);
        let line = child.first_line();
        (child, line)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.member.post(path, body).expect("a response")
    }

    fn watchers(&self) -> usize {
        let report = self.member.exchange("GET /metrics HTTP/1.0\r\n\r\n").expect("a response");
        let count = report.lines().find_map(|line| line.strip_prefix("tenure_watchers "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    /// Returns the number of clients that hold lock `a` or wait for it. The keys of these clients
    /// begin with `a/`.
    pub(crate) fn asking_for_a(&self) -> usize {
        self.post("/v3/kv/range", r#"{"key":"YS8=","range_end":"YTA="}"#).matches("\"key\"").count()
    }

    pub(crate) fn leases(&self) -> usize {
        self.post("/v3/lease/leases", "{}").matches("\"ID\"").count()
    }
}

pub(crate) fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().expect("its output")).lines()
}

pub(crate) fn signal(name: &str, id: &str) -> bool {
    let sent = Command::new("kill").args([name, id]).stderr(Stdio::null()).status();
    sent.expect("kill").success()
}

/// Returns true if the process `id` exists and is not a zombie.
fn lives(id: &str) -> bool {
    state_of(format!("/proc/{id}")).is_some_and(|state| state != 'Z')
}

#[track_caller]
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LONG, "it does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a process has ended. Returns its exit status and its text on standard error.
#[track_caller]
pub(crate) fn ended(child: impl Into<Killed>) -> (i32, String) {
    let Output { status, stderr, .. } = child.into().wait_with_output();
    (status.code().expect("a status"), String::from_utf8(stderr).expect("text"))
}

#[test]
fn wrapper_passes_the_exit_status_and_leaves_no_lease() {
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
    let mut child = Killed(command.stdin(Stdio::piped()).spawn().expect("the command starts"));
    child.stdin.take().expect("input").write_all(b"typed").expect("it is read");
    assert_eq!(child.wait_with_output().stdout, b"typed");
    let mut missing = Command::new(env!("CARGO_BIN_EXE_tenure"));
    missing.args(["lock", "a", "--endpoints", &service.member.address, "--", "/no/such/command"]);
    assert_eq!(missing.output().expect("it starts").status.code(), Some(127));
    assert_eq!(service.leases(), 0, "each session was closed");
}

#[test]
fn closed_standard_error_does_not_change_the_exit_status() {
    let service = Service::start();
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    // The wrapper prints the names of the processes that are left.
    let mut wrapper = service.wrapper("lock --grace 100ms a", "sleep 600 & exit 3");
    let status = wrapper.stderr(writer).status().expect("the command starts");
    assert_eq!((status.code(), service.leases()), (Some(3), 0));
}

#[test]
fn lock_not_acquired_ends_with_status_120() {
    let service = Service::start();
    let (mut holder, _) = service.running("lock a", "echo in; exec sleep 600");
    let mut unserved = Command::new(env!("CARGO_BIN_EXE_tenure"));
    unserved.args(["lock", "a", "--endpoints", "127.0.0.1:1", "--", "true"]);
    let unserved = Killed(unserved.stderr(Stdio::null()).spawn().expect("it starts"));
    // A busy machine needs a part of the timeout to reach the queue.
    let all = ["lock --try a", "lock --timeout 20s a", "elect --timeout 20s a"];
    let all = all.map(|options| service.wrapper(options, "echo started").spawn());
    for refused in all {
        let refused = Killed(refused.expect("it starts")).wait_with_output();
        let message = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(
            (refused.status.code(), &refused.stdout[..]),
            (Some(120), &b""[..]),
            "{message}"
        );
        assert_eq!(
            message,
            "tenure: `a` was not acquired: another client holds it; the command was not started\n"
        );
    }
    // A terminated waiting process leaves the queue.
    let waits = service.wrapper("lock a", "echo started").spawn().expect("it starts");
    until(|| service.asking_for_a() == 2);
    assert!(signal("-TERM", &waits.id().to_string()));
    assert_eq!(ended(waits).0, 143);
    assert_eq!(service.asking_for_a(), 1);
    assert_eq!(service.leases(), 1);
    assert!(signal("-TERM", &holder.id().to_string()));
    assert_eq!(holder.wait().expect("an end").code(), Some(143), "it was passed on");
    let unserved = unserved.wait_with_output();
    assert_eq!(unserved.status.code(), Some(120));
}

/// The names exceed the length that Linux allows for one environment variable. The guardian
/// receives them in `TENURE_LOCK`, so it cannot be started.
#[cfg(target_os = "linux")]
#[test]
fn lock_is_released_if_the_guardian_cannot_be_started() {
    let service = Service::start();
    let [first, second] = ["a", "b"].map(|letter| letter.repeat(66_000));
    let election = "c".repeat(131_065);
    for options in [format!("lock --all {first} --all {second}"), format!("elect {election}")] {
        let ended = service.run(&options, "echo started");
        assert_fails_with(&ended, 4, "cannot start a process: Argument list too long");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "");
        assert_eq!(service.leases(), 0, "the session was closed");
    }
}

#[test]
fn signals_are_forwarded_to_the_command() {
    let service = Service::start();
    // Hides messages of the shell. The child of the shell also receives the signal, and the shell
    // reports the end of its child.
    let script = "exec 2>/dev/null; trap 'exit 5' USR1; echo up; while :; do sleep 0.02; done";
    let (wrapper, _) = service.running("lock a", script);
    assert!(signal("-USR1", &wrapper.id().to_string()));
    assert_eq!(ended(wrapper), (5, String::new()));
}

#[test]
fn command_is_killed_before_its_lease_expires_without_responses() {
    let service = Service::start();
    let (wrapper, id) =
        service.running("lock --ttl 4s a", "trap '' TERM; echo $$; while :; do sleep 0.02; done");
    assert!(signal("-STOP", &service.member.process.id().to_string()));
    let (status, message) = ended(wrapper);
    assert_eq!(status, 121, "{message}");
    assert!(message.starts_with("tenure: `a` was lost: "), "{message}");
    assert!(!lives(&id), "it would not end when it was asked to");
}

#[test]
fn command_is_killed_when_its_lease_is_revoked() {
    let service = Service::start();
    let (wrapper, id) = service.running("lock a", "echo $$; exec sleep 600");
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
    let (status, message) = ended(wrapper);
    assert_eq!((status, lives(&id)), (121, false), "{message}");
    assert_eq!(message, "tenure: `a` was lost: its key was deleted; the command was ended\n");
}

#[test]
fn command_has_ended_when_a_stopped_wrapper_loses_the_lease() {
    let service = Service::start();
    let (wrapper, id) = service.running("lock --ttl 5s a", "echo $$; exec sleep 600");
    let wrappers = wrapper.id().to_string();
    assert!(signal("-STOP", &wrappers));
    until(|| service.leases() == 0);
    assert!(!lives(&id) && signal("-CONT", &wrappers));
    assert_eq!(ended(wrapper).0, 121);
}

#[test]
fn command_that_ended_before_a_stopped_wrapper_lost_the_lease_keeps_its_status() {
    let service = Service::start();
    // The command runs while this file exists.
    let goes_on = tempfile::NamedTempFile::new().expect("a file");
    let path = goes_on.path().display().to_string();
    let script = format!("echo $$; while [ -e {path} ]; do sleep 0.02; done; exit 7");
    let (wrapper, id) = service.running("lock --ttl 8s a", &script);
    let wrappers = wrapper.id().to_string();
    assert!(signal("-STOP", &wrappers));
    drop(goes_on);
    until(|| !lives(&id));
    assert_eq!(service.leases(), 1, "the control: the lease has not ended yet");
    until(|| service.leases() == 0);
    assert!(signal("-CONT", &wrappers));
    assert_eq!(ended(wrapper), (7, String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn command_does_not_outlive_a_killed_wrapper() {
    let service = Service::start();
    let (mut wrapper, id) = service.running("lock a", "echo $$; exec sleep 600");
    wrapper.kill().expect("killed");
    wrapper.wait().expect("an end");
    until(|| !lives(&id));
}

#[test]
fn observer_sees_the_leader_and_its_absence() {
    let service = Service::start();
    let observer = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["elect", "--observe", "boss", "--endpoints", &service.member.address])
        .stdout(Stdio::piped())
        .spawn();
    let mut observer = Killed(observer.expect("the command starts"));
    let mut observed = lines(&mut observer).map(|line| {
        let line = line.expect("text");
        assert!(!line.contains(['\u{202e}', '\u{9b}']), "nor does it paint: {line:?}");
        serde_json::from_str::<Value>(&line).expect("a line of JSON")
    });
    assert_eq!(observed.next().expect("a line")["leader"], Value::Null);
    let value = "host-7\u{202e}\u{9b}2J";
    // The command leads while this file exists, so that the observer cannot miss the leader.
    let goes_on = tempfile::NamedTempFile::new().expect("a file");
    let script = format!(
        "echo $TENURE_FENCE; while [ -e {} ]; do sleep 0.05; done; exit 3",
        goes_on.path().display()
    );
    let (mut elected, fence) = service.running(&format!("elect --value {value} boss"), &script);
    let led = observed.next().expect("a line");
    drop(goes_on);
    assert_eq!(elected.wait().expect("an end").code(), Some(3));
    assert_eq!((&led["leader"], &led["election"]), (&value.into(), &"boss".into()));
    assert_eq!(led["fence"].to_string(), fence.trim());
    assert_eq!(observed.next().expect("a line")["leader"], Value::Null);
    assert!(signal("-INT", &observer.id().to_string()));
    assert_eq!(observer.wait().expect("an end").code(), Some(0));
}

#[test]
fn observer_ends_after_its_reader() {
    let service = Service::start();
    let observer = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["elect", "--observe", "boss", "--endpoints", &service.member.address])
        .stdout(Stdio::piped())
        .spawn();
    let mut observer = Killed(observer.expect("the command starts"));
    // Closes the pipe after the first line, as `| head -1` does.
    assert!(observer.first_line().contains(r#""leader":null"#));
    let (_leader, _) = service.running("elect boss", "echo up; exec sleep 600");
    assert_eq!(observer.wait_with_output().status.code(), Some(0));
}

#[test]
fn wrapper_queues_with_clients_of_etcd() {
    let service = Service::start();
    let etcdctl = |command: &str| {
        let mut client = Command::new("etcdctl");
        client.env("ETCDCTL_API", "3").args(["--endpoints", &service.member.address, "lock", "a"]);
        client.args(["--", "sh", "-c", command]).stdout(Stdio::piped()).stderr(Stdio::null());
        client.spawn()
    };
    let goes_on = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("echo in; while [ -e {} ]; do sleep 0.05; done", goes_on.path().display());
    let Ok(mut theirs) = etcdctl(&script) else {
        report_skip("etcdctl");
        return;
    };
    assert_eq!(lines(&mut theirs).next().expect("a line").expect("text"), "in");
    assert_eq!(service.run("lock --try a", "true").status.code(), Some(120));
    drop(goes_on);
    assert_eq!(service.run("lock a", "exit 9").status.code(), Some(9));
    theirs.wait().expect("an end");
}

#[test]
fn empty_name_is_rejected() {
    for (line, name) in [
        (["locks", "show", ""], "<NAME>"),
        (["locks", "queue", ""], "<NAME>"),
        (["locks", "why", ""], "<NAME>"),
        (["member", "remove", ""], "<MEMBER>"),
        (["member", "promote", ""], "<MEMBER>"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let ended = command.args(line).output().expect("the command starts");
        assert_fails_with(&ended, 2, &format!("a value is required for '{name}'"));
    }
}

#[test]
fn invalid_endpoints_are_rejected() {
    for (verb, what) in [("lock", "a -- true"), ("locks ls", ""), ("member list", "")] {
        for endpoint in ["http://", "http://127.0.0.1:port"] {
            let line = format!("{verb} --endpoints {endpoint} {what}");
            assert_fails_with(&crate::shell::tenure(&line), 2, "expected a URL such as http://");
        }
    }
}

#[test]
fn invalid_options_of_lock_are_rejected_with_the_remedy() {
    for (line, message) in [
        ("lock a", "<COMMAND>"),
        ("elect a", "<COMMAND>"),
        ("lock --ttl 500ms a -- true", "'500ms' for '--ttl <TIME>': expected at least 1s"),
        ("lock --ttl 4s --grace 3s a -- true", "'3s' for --grace: expected at most 2s, half of"),
        ("lock --ttl 1s --grace 500ms a -- true", "'500ms' for --grace: expected at most 450ms"),
        ("lock --try --timeout 1s a -- true", "'--try' cannot be used with '--timeout"),
        (
            "lock --endpoints ftp://foo a -- true",
            "invalid endpoint 'ftp://foo': expected a URL such as http://",
        ),
        ("lock --endpoints https://127.0.0.1:1 a -- true", "give the CA certificate with --cacert"),
        ("elect --observe --endpoints ftp://foo a", "invalid endpoint 'ftp://foo'"),
        ("lock --user bob a -- true", "expected NAME:PASSWORD"),
    ] {
        assert_fails_with(&crate::shell::tenure(line), 2, message);
    }
    for line in ["lock a -- true", "elect --observe a", "locks ls", "member list"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(line.split(' ')).env("TENURE_USER", "bob");
        assert_fails_with(&command.output().expect("the command starts"), 2, "TENURE_USER");
    }
}

/// Starts a member with authentication, at which only `root` and `bob` have permissions. `bob` may
/// use all keys below `jobs/`.
pub(crate) fn closed() -> Service {
    let service = Service::start();
    enable_users(&service);
    service
}

/// Enables authentication for `root`, and for `bob`, who may use all keys below `jobs/`.
fn enable_users(service: &Service) {
    // Permission for all keys below `jobs/`: the range from `jobs/` to `jobs0`.
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
        let report = service.post(&format!("/v3/auth/{path}"), body);
        assert!(report.contains(" 200 "), "{path}: {report}");
    }
}

#[test]
fn denied_requests_are_logged_with_address_and_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut command = Member::command(&format!("--data-dir {}/data", folder.path().display()));
    let member = Member::started_by(command.stderr(File::create(&log).expect("room")));
    let service = Service { member, _folder: folder };
    enable_users(&service);
    let denied = |path: &str| {
        let log = fs::read_to_string(&log).expect("a log");
        let mut lines = log.lines().filter(|line| line.contains("request denied"));
        lines.find(|line| line.contains(path)).map(str::to_owned)
    };
    // The member logs at most one denied request per second, so the clients repeat their requests.
    until(|| {
        service.run("lock --user bob:one other", "true");
        denied("tenure.Session/Transact").is_some()
    });
    until(|| {
        service.post("/v3/kv/put", r#"{"key":"YQ=="}"#);
        denied("etcdserverpb.KV/Put").is_some()
    });
    until(|| {
        service.post("/v3/election/observe", r#"{"name":"YQ=="}"#);
        denied("v3electionpb.Election/Observe").is_some()
    });
    let bob = Some("user=\"bob\"");
    for (path, user) in [("Session/Transact", bob), ("KV/Put", None), ("Election/Observe", None)] {
        let line = denied(path).expect("a line");
        assert!(line.contains(" client=127.0.0.1:"), "{line}");
        assert_eq!(line.contains("user="), user.is_some(), "{line}");
        assert!(user.is_none_or(|user| line.contains(user)), "{line}");
    }
}

#[test]
fn users_hold_only_permitted_locks() {
    let service = closed();
    let held = service.run("lock --user bob:one jobs/nightly", "echo inside");
    assert_eq!((held.status.code(), &held.stdout[..]), (Some(0), &b"inside\n"[..]));
    for (options, why) in [
        ("lock --user bob:one other", "permission denied"),
        ("lock --user bob:two jobs/nightly", "authentication failed"),
        ("elect jobs/office", "user name is empty; use --user NAME:PASSWORD"),
    ] {
        let refused = service.run(options, "echo inside");
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(120), "{options}: {text}");
        assert!(text.contains(why), "{options}: {text}");
    }
    let locks = |prefix: &str| {
        let at = &service.member.address;
        crate::shell::tenure(&format!("locks ls {prefix} --user bob:one --endpoints {at}"))
    };
    assert_fails_with(&locks(""), 2, "permission denied; give a prefix");
    assert!(locks("jobs/").status.success());
}

/// Sends a request to a member that requires authentication, as the user `root`.
pub(crate) fn post_as_root(member: &Member, path: &str, body: &str) {
    let user = r#"{"name":"root","password":"secret"}"#;
    let response = member.post("/v3/auth/authenticate", user).expect("a response");
    let token = response.split(r#""token":""#).nth(1).and_then(|rest| rest.split('"').next());
    let token = token.unwrap_or_else(|| panic!("no token: {response}"));
    let head = format!("POST {path} HTTP/1.0\r\nauthorization: {token}\r\n");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let response = member.exchange(&request).expect("a response");
    assert!(response.contains(" 200 "), "{path}: {response}");
}

#[test]
fn user_without_permission_leaves_the_queue() {
    let service = closed();
    let (root, _) = service.running("lock --user root:secret jobs/x", "echo in; exec sleep 600");
    let mut waits = service.wrapper("lock --ttl 5s --user bob:one jobs/x", "echo inside");
    let mut waits = waits.spawn().expect("it starts");
    // The holder has two watches. The waiter watches the key of the holder, and its own.
    until(|| service.watchers() == 4);
    let body = r#"{"name":"bob","role":"jobs"}"#;
    post_as_root(&service.member, "/v3/auth/user/revoke", body);
    assert!(signal("-TERM", &root.id().to_string()));
    let started = Instant::now();
    while waits.try_wait().expect("a child").is_none() {
        if started.elapsed() > LONG {
            let _ = waits.kill();
            panic!("it waits on");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (status, message) = ended(waits);
    assert_eq!(status, 120, "{message}");
    assert!(message.contains("permission denied"), "{message}");
    assert_eq!(ended(root).0, 143);
    let next = service.run("lock --timeout 100s --user root:secret jobs/x", "echo inside");
    assert_eq!((next.status.code(), &next.stdout[..]), (Some(0), &b"inside\n"[..]));
}
