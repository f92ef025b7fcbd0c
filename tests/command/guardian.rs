//! Tests that `tenure lock` ends the process tree of its command before another client receives the
//! lock.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::hold::{Service, ended, lines, signal, until};
use crate::killed::Killed;
use crate::process_state::state_of;
use crate::shell::assert_fails_with;
use crate::skipped::report_skip;

/// Returns the IDs of the processes whose environment contains this assignment. Looks several
/// times, because a single pass may miss all processes of a chain that forks again and again.
pub(crate) fn marked(assignment: &str) -> Vec<String> {
    const PASSES: usize = 3;
    let found: BTreeSet<_> = (0..PASSES).flat_map(|_| marked_in_one_pass(assignment)).collect();
    found.into_iter().collect()
}

fn marked_in_one_pass(assignment: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("the processes");
    let ids = entries.flatten().filter_map(|it| it.file_name().into_string().ok());
    ids.filter(|id| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == assignment.as_bytes())
    })
    .collect()
}

pub(crate) fn children(id: &str) -> Vec<String> {
    let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn guardian(wrapper: &Child) -> String {
    children(&wrapper.id().to_string()).pop().expect("a guardian")
}

/// A service whose clients run with a mark in their environment. The test finds all processes of
/// these clients by the mark.
pub(crate) struct Marked {
    pub(crate) service: Service,
    mark: String,
}

impl Marked {
    pub(crate) fn start() -> Marked {
        let service = Service::start();
        let mark = format!("MARKED_BY={}", service.member.address);
        Marked { service, mark }
    }

    pub(crate) fn wrapper(&self, options: &str, script: &str) -> Command {
        let mut wrapper = self.service.wrapper(options, script);
        let (name, value) = self.mark.split_once('=').expect("an assignment");
        wrapper.env(name, value);
        wrapper
    }

    /// Starts a wrapper of a script, and waits until the script has printed a line.
    fn running(&self, options: &str, script: &str) -> Killed {
        let mut child = Killed(self.wrapper(options, script).spawn().expect("the command starts"));
        child.first_line();
        child
    }

    /// Returns the processes that still exist among the wrapper, the guardian and the command.
    pub(crate) fn left(&self) -> Vec<String> {
        marked(&self.mark)
    }

    /// Starts `lock a` with these options in the foreground of a terminal. `redirection` is shell
    /// syntax that follows the command line. Returns the terminal; `None` without `script`.
    fn at_terminal(&self, options: &str, script: &str, redirection: &str) -> Option<Killed> {
        if Command::new("script").arg("--version").output().is_err() {
            report_skip("script");
            return None;
        }
        // `script` runs the command with the shell in `SHELL`. The command uses `exec`, because a
        // remaining shell would be interrupted as well and return its own exit status.
        let command = format!(
            "exec \"$PROGRAM\" lock a {options} --endpoints \"$MARKED_BY\" -- sh -c \"$SCRIPT\" \
             {redirection}"
        );
        let mut terminal = Command::new("env");
        terminal
            .args(["--default-signal=INT,QUIT", "script", "--quiet", "--return"])
            .args(["--command", &command, "/dev/null"])
            .envs([("SHELL", "/bin/sh"), ("PROGRAM", env!("CARGO_BIN_EXE_tenure"))])
            .envs([("SCRIPT", script), ("MARKED_BY", &self.service.member.address)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Some(Killed(terminal.spawn().expect("a terminal")))
    }

    fn waiting(&self) -> Killed {
        let script = "echo in";
        let next = self.service.wrapper("lock --ttl 60s a", script).spawn().expect("it starts");
        let next = Killed(next);
        until(|| self.service.asking_for_a() == 2);
        next
    }
}

impl Drop for Marked {
    /// Kills the processes that a failed test has left.
    fn drop(&mut self) {
        kill_marked(&self.mark);
    }
}

/// Kills all processes whose environment contains this assignment, and their new children.
pub(crate) fn kill_marked(assignment: &str) {
    for _ in 0..100 {
        let left = marked(assignment);
        if left.is_empty() {
            return;
        }
        for id in &left {
            signal("-KILL", id);
        }
    }
}

/// Scripts that start a process `sleep 600` in different ways, for example in the background.
pub(crate) const SHAPES: [&str; 8] = [
    "echo up; sleep 600; echo done",
    "echo up; sleep 600 | cat; echo done",
    "echo up; timeout 600 sleep 600; echo done",
    "echo up; setsid sleep 600 & wait",
    "(setsid sleep 600 >/dev/null 2>&1 &); echo up; sleep 600; echo done",
    "nohup sleep 600 >/dev/null 2>&1 & echo up; wait",
    "trap '' TERM; echo up; sleep 600; sleep 600",
    "next() { sleep 0.01; next & }; next & echo up; sleep 600; echo done",
];

#[test]
fn whole_tree_ends_when_the_wrapper_is_killed() {
    let marked = Marked::start();
    for shape in SHAPES {
        let mut wrapper = marked.running("lock --ttl 60s a", shape);
        wrapper.kill().expect("killed");
        wrapper.wait().expect("an end");
        until(|| marked.left().is_empty());
        assert_eq!(marked.service.asking_for_a(), 1, "its lease has not ended: {shape}");
        marked.service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
    }
}

#[test]
fn whole_tree_ends_when_the_guardian_is_killed() {
    let marked = Marked::start();
    for shape in SHAPES {
        let wrapper = marked.running("elect --ttl 60s a", shape);
        assert!(signal("-KILL", &guardian(&wrapper)));
        let (status, message) = ended(wrapper);
        assert_eq!(status, 121, "{shape}: {message}");
        assert!(message.contains("the guardian process ended early (signal: 9"), "{message}");
        assert_eq!(marked.left(), [""; 0], "{shape}");
        assert_eq!(marked.service.leases(), 0, "it was given up: {shape}");
    }
}

#[test]
fn stopped_wrapper_kills_the_tree_before_losing_the_lock() {
    let stops = |shape: &str| {
        let marked = Marked::start();
        let wrapper = marked.running("lock --ttl 5s a", shape);
        let id = wrapper.id().to_string();
        let mut next = marked.waiting();
        assert!(signal("-STOP", &id));
        assert_eq!(next.first_line(), "in");
        let mut left = marked.left();
        left.retain(|it| *it != id);
        assert_eq!(left, [""; 0], "{shape}");
        assert!(signal("-CONT", &id));
        let (status, message) = ended(wrapper);
        assert_eq!(status, 121, "{shape}: {message}");
        assert_eq!(ended(next).0, 0);
    };
    // Each of these tests waits until a lease expires, so they run at the same time.
    std::thread::scope(|scope| {
        for shape in [SHAPES[0], SHAPES[4], SHAPES[6]] {
            scope.spawn(move || stops(shape));
        }
    });
}

#[test]
fn stopped_guardian_is_continued() {
    let marked = Marked::start();
    let wrapper =
        marked.running("lock a", "trap 'exit 5' USR1; echo up; while :; do sleep 0.1; done");
    let guardian = guardian(&wrapper);
    for _ in 0..5 {
        assert!(signal("-STOP", &guardian));
        until(|| state_of(format!("/proc/{guardian}")) != Some('T'));
    }
    assert!(signal("-USR1", &wrapper.id().to_string()));
    assert_eq!(ended(wrapper).0, 5);
}

#[test]
fn stopped_guardian_continues_after_its_wrapper_is_killed() {
    let marked = Marked::start();
    let mut wrapper = marked.running("lock --ttl 60s a", "echo up; sleep 600; echo done");
    let guardian = guardian(&wrapper);
    assert!(signal("-STOP", &wrapper.id().to_string()));
    assert!(signal("-STOP", &guardian));
    until(|| state_of(format!("/proc/{guardian}")) == Some('T'));
    wrapper.kill().expect("killed");
    wrapper.wait().expect("an end");
    until(|| marked.left().is_empty());
}

#[test]
fn guardian_ignores_signals_to_all_processes_of_a_service() {
    let marked = Marked::start();
    let wrapper =
        marked.running("lock a", "trap 'exit 5' USR1; echo up; while :; do sleep 0.1; done");
    let guardian = guardian(&wrapper);
    for name in ["-HUP", "-INT", "-QUIT", "-TERM", "-USR2", "-TSTP", "-TTIN", "-TTOU", "-PIPE"] {
        assert!(signal(name, &guardian));
    }
    assert!(signal("-USR1", &wrapper.id().to_string()));
    assert_eq!(ended(wrapper).0, 5);
}

#[test]
fn background_processes_are_killed_after_the_grace_period() {
    let marked = Marked::start();
    let output = marked.wrapper("lock a", "(sleep 0.2; echo late) & exit 3").output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"late\n"[..], &b""[..]));
    for script in
        ["sleep 600 & exit 3", "setsid sleep 600 & exit 3", "(setsid sleep 600 &); exit 3"]
    {
        let (status, message) =
            ended(marked.wrapper("lock --grace 100ms a", script).spawn().expect("it"));
        assert_eq!(status, 3, "{script}: {message}");
        assert!(message.contains("the command left processes running, ending them: "), "{message}");
        assert_eq!(marked.left(), [""; 0], "{script}");
        assert_eq!(marked.service.leases(), 0, "{script}");
    }
}

#[test]
fn lock_is_held_while_a_background_process_ignores_an_interrupt() {
    for name in ["-INT", "-QUIT", "-TERM"] {
        let marked = Marked::start();
        // Shells start background processes with SIGINT and SIGQUIT ignored, so the script needs
        // `trap` only for SIGTERM.
        let script = "(trap '' TERM; while :; do sleep 0.05; done) & echo up; wait";
        // A lease that outlasts the test: only a release passes the lock on.
        let wrapper = marked.running("lock --ttl 60s --grace 400ms a", script);
        let mut next = marked.waiting();
        assert!(signal(name, &wrapper.id().to_string()));
        assert_eq!(next.first_line(), "in");
        let mut left = marked.left();
        // Wrapper and guardian may still be terminating after reporting the end.
        let is_guardian = |id: &str| {
            std::fs::read_to_string(format!("/proc/{id}/comm"))
                .is_ok_and(|it| it == "tenure-guard\n")
        };
        left.retain(|it| *it != wrapper.id().to_string() && !is_guardian(it));
        assert_eq!(left, [""; 0], "{name}");
        let (status, message) = ended(wrapper);
        assert!(status > 128, "{name}: {status}: {message}");
        let (status, message) = ended(next);
        assert_eq!(status, 0, "{name}: {message}");
    }
}

#[test]
fn signals_at_the_end_do_not_replace_the_exit_status() {
    let service = Service::start();
    for _ in 0..20 {
        let wrapper = service.wrapper("lock a", "exit 3").spawn().expect("it starts");
        let mut wrapper = Killed(wrapper);
        let id = i32::try_from(wrapper.id()).ok().and_then(Pid::from_raw).expect("an ID");
        // Sends a signal that the command ignores, again and again. Each signal interrupts the wait
        // of the wrapper, also between the end of the command and the end of the guardian. The
        // pauses give the wrapper time to run on a busy machine.
        while wrapper.try_wait().expect("a child").is_none() {
            kill_process(id, Signal::WINCH).expect("sent");
            std::thread::sleep(Duration::from_micros(100));
        }
        let (status, message) = ended(wrapper);
        assert_eq!((status, &message[..]), (3, ""));
    }
}

#[test]
fn ignored_signals_stay_ignored() {
    let service = Service::start();
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let script = format!(
        "trap '' HUP; exec {tenure} lock a --endpoints {} -- sh -c 'echo up; read line; exit 4'",
        service.member.address
    );
    let mut wrapper = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    lines(&mut wrapper).next().expect("a line").expect("text");
    assert!(signal("-HUP", &wrapper.id().to_string()));
    wrapper.stdin.take().expect("its input").write_all(b"go\n").expect("it reads");
    assert_eq!(wrapper.wait().expect("an end").code(), Some(4));
}

#[test]
fn command_outlives_many_leases_that_are_renewed() {
    let service = Service::start();
    let output = service.run("lock --ttl 8s --grace 100ms a", "sleep 17; exit 9");
    assert_eq!(output.status.code(), Some(9), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn stopped_service_ends_the_whole_tree_before_the_deadline() {
    let marked = Marked::start();
    let script =
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & echo $TENURE_DEADLINE; wait";
    let wrapper = marked.running("lock --ttl 4s a", script);
    assert!(signal("-STOP", &marked.service.member.process.id().to_string()));
    let (status, message) = ended(wrapper);
    assert_eq!((status, marked.left()), (121, Vec::new()), "{message}");
}

fn read_until(output: &mut impl Read, end: &str) {
    let mut shown = Vec::new();
    while !shown.ends_with(end.as_bytes()) {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("output");
        shown.push(byte[0]);
    }
}

#[test]
fn command_with_redirected_input_reads_from_the_terminal() {
    let marked = Marked::start();
    let script = "read a </dev/tty; echo got $a; exit 6";
    let Some(mut terminal) = marked.at_terminal("", script, "</dev/null") else { return };
    let mut typed = terminal.stdin.take().expect("its input");
    typed.write_all(b"secret\n").expect("typed");
    let mut output = terminal.stdout.take().expect("its output");
    read_until(&mut output, "got secret");
    assert_eq!(terminal.wait().expect("an end").code(), Some(6));
}

#[test]
fn processes_that_ignore_a_typed_interrupt_have_a_short_time() {
    let marked = Marked::start();
    // The shell makes the background process ignore the interrupt.
    let script = "sleep 600 & echo up; exec sleep 600";
    let options = "--ttl 2h --grace 1h";
    let Some(mut terminal) = marked.at_terminal(options, script, "") else { return };
    let mut typed = terminal.stdin.take().expect("its input");
    let mut output = terminal.stdout.take().expect("its output");
    read_until(&mut output, "up");
    until(|| marked.left().iter().filter(|id| is_sleeping(id)).count() == 2);
    typed.write_all(b"\x03").expect("typed");
    assert_eq!(terminal.wait().expect("an end").code(), Some(130), "SIGINT ended the command");
}

#[test]
fn stopped_command_is_continued_by_a_signal_that_ends_it() {
    let marked = Marked::start();
    let wrapper = marked.running("lock --ttl 60s a", "echo up; kill -STOP $$; exit 9");
    let is_stopped = |id: &String| state_of(format!("/proc/{id}")) == Some('T');
    until(|| marked.left().iter().any(is_stopped));
    assert!(signal("-TERM", &wrapper.id().to_string()));
    let (status, message) = ended(wrapper);
    assert_eq!(status, 143, "{message}");
}

#[test]
fn command_at_a_terminal_reads_input_and_is_interrupted_once() {
    let marked = Marked::start();
    // If the wrapper forwarded a second interrupt, it would arrive during `sleep 1`.
    let script = "trap 'echo interrupted' INT; read a; echo got $a; \
                  sleep 30 && exit 7; sleep 1; exit 6";
    let Some(mut terminal) = marked.at_terminal("", script, "") else { return };
    let mut typed = terminal.stdin.take().expect("its input");
    let mut output = terminal.stdout.take().expect("its output");
    typed.write_all(b"hello\n").expect("typed");
    read_until(&mut output, "got hello");
    // Waits until the child of the shell runs `sleep`. Before its `exec`, the child would handle
    // the interrupt as the shell does, and then continue with `sleep`.
    until(|| marked.left().iter().any(|id| is_sleeping(id)));
    typed.write_all(b"\x03").expect("typed");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("output");
    assert_eq!(terminal.wait().expect("an end").code(), Some(6), "{rest}");
    assert_eq!(rest.matches("interrupted").count(), 1, "{rest}");
}

/// Creates a setuid copy of `setpriv`, by which an unprivileged process becomes root, as with
/// `sudo`. Returns the path of the copy.
fn become_root(folder: &Path) -> Option<String> {
    let path = folder.join("as-root");
    let made = Command::new("sh")
        .args(["-c", "cp \"$(command -v setpriv)\" \"$0\" && chmod 4755 \"$0\""])
        .arg(&path)
        .status();
    let path = path.to_str()?.to_owned();
    let tried = Command::new("setpriv")
        .args(UNPRIVILEGED)
        .args([&path, "--reuid", "0", "id", "-ru"])
        .output();
    (made.ok()?.success() && tried.ok()?.stdout == b"0\n").then_some(path)
}

/// Options by which `setpriv` runs a program as an unprivileged user.
const UNPRIVILEGED: [&str; 5] = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];

#[test]
fn processes_of_another_user_keep_the_lock_held() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = Command::new("chmod").arg("755").arg(folder.path()).status();
    assert!(open.expect("chmod").success());
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let is_open = Command::new("setpriv").args(UNPRIVILEGED).args([tenure, "--version"]).output();
    let as_root = become_root(folder.path());
    let (Some(as_root), true) = (as_root, is_open.is_ok_and(|it| it.status.success())) else {
        report_skip("root, setpriv, and a build that every user may run");
        return;
    };
    let marked = Marked::start();
    let unprivileged = |options: &str, script: &str| {
        let wrapper = marked.wrapper(options, script);
        let mut command = Command::new("setpriv");
        command
            .args(UNPRIVILEGED)
            .arg(wrapper.get_program())
            .args(wrapper.get_args())
            .envs(wrapper.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        lines(&mut child).next().expect("a line").expect("text");
        let message = BufReader::new(child.stderr.take().expect("its errors")).lines();
        (child, message.map(|line| line.expect("text")))
    };
    // First case: the command ends normally and leaves a process that cannot be killed.
    let script = format!("{as_root} --reuid 0 sleep 600 & echo up; exit 3");
    let (mut wrapper, mut message) = unprivileged("lock --grace 100ms a", &script);
    let left = message.next().expect("a line");
    assert!(left.contains("the command left processes running"), "{left}");
    let stuck = message.next().expect("a line");
    assert!(stuck.contains("`a` stays held: processes cannot be killed: sleep"), "{stuck}");
    assert!(stuck.contains("Operation not permitted"), "{stuck}");
    assert_eq!(marked.service.asking_for_a(), 1);
    kill_sleeping(&marked);
    assert_eq!(wrapper.wait().expect("an end").code(), Some(3));
    assert_eq!(marked.service.leases(), 0);
    // Second case: the lock is lost while a process runs that cannot be killed.
    let script = format!("echo up; {as_root} --reuid 0 sleep 600; true");
    let (mut wrapper, mut message) = unprivileged("lock --ttl 60s a", &script);
    until(|| marked.left().iter().any(|id| is_sleeping(id)));
    marked.service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
    let lost = message.next().expect("a line");
    assert!(lost.contains("`a` was lost: its key was deleted; the command was killed"), "{lost}");
    let left = message.next().expect("a line");
    assert!(left.contains("may run concurrently with the next holder: sleep"), "{left}");
    assert_eq!(wrapper.wait().expect("an end").code(), Some(121));
    assert_eq!(marked.service.leases(), 1, "it is left to expire");
    kill_sleeping(&marked);
}

#[test]
fn lock_is_released_if_the_guardian_cannot_start_the_command() {
    // A user without other processes. The user may have two: the wrapper and the guardian.
    let limited = [
        ["--reuid", "54321"],
        ["--regid", "54321"],
        ["--clear-groups", "prlimit"],
        ["--nproc=2", env!("CARGO_BIN_EXE_tenure")],
    ];
    let run = |arguments: &[&str]| {
        Command::new("setpriv").args(limited.as_flattened()).args(arguments).output()
    };
    if !run(&["--version"]).is_ok_and(|it| it.status.success()) {
        report_skip("root, setpriv, prlimit, and a build that every user may run");
        return;
    }
    let service = Service::start();
    let at = &service.member.address;
    let ended = run(&["lock", "a", "--endpoints", at, "--", "true"]).expect("it starts");
    assert_fails_with(&ended, 4, "cannot start a process: ");
    assert_eq!(service.leases(), 0, "the session was closed");
}

pub(crate) fn is_sleeping(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n")
}

pub(crate) fn kill_sleeping(marked: &Marked) {
    for id in marked.left().iter().filter(|id| is_sleeping(id)) {
        assert!(signal("-KILL", id));
    }
}

#[test]
fn whole_tree_is_terminated_before_it_is_killed() {
    let marked = Marked::start();
    let script =
        "sh -c 'trap \"echo asked; exit\" TERM; echo up; while :; do sleep 0.02; done'; true";
    let child = marked.wrapper("lock --ttl 6s --grace 3s a", script).spawn().expect("it starts");
    let mut child = Killed(child);
    let mut observed = lines(&mut child);
    assert_eq!(observed.next().expect("a line").expect("text"), "up");
    assert!(signal("-STOP", &child.id().to_string()));
    assert_eq!(observed.next().expect("a line").expect("text"), "asked");
    assert!(signal("-CONT", &child.id().to_string()));
    assert_eq!(ended(child).0, 121);
}
