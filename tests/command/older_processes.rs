//! Tests that `tenure lock` and `tenure elect` tell the processes of their command from older ones.
//! A shell may start processes and then become the wrapper by `exec`. These processes are children
//! of the wrapper, but do not belong to its command.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::guardian::{Marked, SHAPES, children, guardian, is_sleeping, kill_sleeping};
use crate::hold::{ended, lines, signal, until};
use crate::killed::Killed;
use crate::process_state::state_of;

/// Returns a shell that runs `script` and then becomes the wrapper by `exec`.
fn exec_from_shell(script: &str, wrapper: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{script} exec \"$@\""), "sh"])
        .arg(wrapper.get_program())
        .args(wrapper.get_args())
        .envs(wrapper.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    shell
}

/// Kills the guardian while many descendants of the command become orphans. The wrapper adopts some
/// of them before the guardian has ended, and must not take them for older children of its own.
#[test]
fn orphans_of_a_guardian_that_is_being_killed_are_ended() {
    /// Starts processes that wait for input. The parent of each ends at once.
    const ORPHANS: &str = "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); \
                           ( { read line; } <&3 & ) done; sleep 600";
    let script = "mkfifo $FOLDER/fifo; exec 3<>$FOLDER/fifo; rm $FOLDER/fifo; exec 2>&-; \
                  sh -c \"$ORPHANS\" >&- & sh -c \"$ORPHANS\" >&- & echo up; sleep 600; echo done";
    let marked = Marked::start();
    for older in ["", "sleep 600 >/dev/null 2>&1 &"].repeat(10) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut wrapper = marked.wrapper("lock --ttl 60s a", script);
        wrapper.env("FOLDER", folder.path()).env("ORPHANS", ORPHANS);
        let mut wrapper =
            Killed(exec_from_shell(older, &wrapper).spawn().expect("the command starts"));
        assert_eq!(wrapper.first_line(), "up");
        let started = marked.left().len();
        until(|| marked.left().len() > started + 20);
        assert!(signal("-KILL", &guardian(&wrapper)));
        let (status, message) = ended(wrapper);
        assert_eq!(status, 121, "{message}");
        let mut left = marked.left();
        left.retain(|id| !is_sleeping(id));
        assert_eq!(left, [""; 0], "processes outlive the lock");
        kill_sleeping(&marked);
    }
}

/// A descendant of an older process becomes a child of the wrapper without a signal to the wrapper,
/// since its parent was not a child of the wrapper. Then the guardian is killed.
#[test]
fn orphans_of_older_processes_survive_the_guardian() {
    const INNER: &str = "sleep 600 >/dev/null & echo $$ $!; exec >/dev/null; wait";
    let marked = Marked::start();
    let script = "sh -c 'sh -c \"$INNER\" & exec >/dev/null; wait; sleep 600' 2>/dev/null & \
                  read line;";
    let mut wrapper = marked.wrapper("lock --ttl 60s a", SHAPES[0]);
    wrapper.env("INNER", INNER);
    let mut wrapper = exec_from_shell(script, &wrapper).spawn().expect("a shell");
    let mut output = lines(&mut wrapper);
    let mut next_line = || output.next().expect("a line").expect("text");
    let ids = next_line();
    let (shell, orphan) = ids.split_once(' ').expect("two IDs");
    until(|| is_sleeping(orphan));
    let mut input = wrapper.stdin.as_ref().expect("its input");
    input.write_all(b"go\n").expect("it reads");
    assert_eq!(next_line(), "up");
    let guardian = guardian(&wrapper);
    assert!(signal("-KILL", shell) && signal("-KILL", &guardian));
    let (status, message) = ended(wrapper);
    assert_eq!(status, 121, "{message}");
    assert!(is_sleeping(orphan), "it does not belong to the command");
    kill_sleeping(&marked);
}

/// Starts background processes in a shell, which then becomes the wrapper. The processes are
/// children of the wrapper, but do not belong to its command.
#[test]
fn processes_older_than_the_wrapper_survive_the_guardian() {
    let marked = Marked::start();
    // The second process is the child of a background shell.
    let script = "sleep 600 >/dev/null 2>&1 & echo $!; \
                  sh -c 'echo $$; sleep 600 >/dev/null & echo $!; exec >/dev/null; wait' \
                  2>/dev/null & read line;";
    let wrapper = marked.wrapper("lock --ttl 60s a", SHAPES[4]);
    let mut wrapper = exec_from_shell(script, &wrapper).spawn().expect("a shell");
    let mut output = lines(&mut wrapper);
    let mut next_line = || output.next().expect("a line").expect("text");
    let ids = [next_line(), next_line(), next_line()];
    until(|| ids.iter().filter(|id| is_sleeping(id)).count() == 2);
    let (mut older, shells): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| is_sleeping(id));
    wrapper.stdin.take().expect("its input").write_all(b"go\n").expect("it reads");
    assert_eq!(next_line(), "up");
    // The wrapper adopts the child of the background shell.
    assert!(signal("-KILL", &shells[0]));
    until(|| state_of(format!("/proc/{}", shells[0])).is_none());
    let guardian = children(&wrapper.id().to_string()).into_iter().find(|id| !older.contains(id));
    assert!(signal("-KILL", &guardian.expect("a guardian")));
    let (status, message) = ended(wrapper);
    assert_eq!(status, 121, "{message}");
    assert!(message.contains("the guardian process ended early (signal: 9"), "{message}");
    let mut left = marked.left();
    left.sort();
    older.sort();
    assert_eq!(left, older, "only the processes of the command were killed");
    assert_eq!(marked.service.leases(), 0, "the lock was released");
    kill_sleeping(&marked);
}
