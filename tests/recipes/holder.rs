//! A process tree that a test can pause, resume and end.

use std::fs;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::service::until;

/// A running command with its descendants. All these processes are killed when this value is
/// dropped.
pub(crate) struct Tree {
    child: Child,
}

impl Tree {
    /// Starts a command in its own process group.
    pub(crate) fn start(command: &mut Command) -> Tree {
        use std::os::unix::process::CommandExt as _;
        let child = command.process_group(0).stdout(Stdio::null()).spawn();
        Tree { child: child.expect("the command starts") }
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        descendants(self.child.id())
    }

    /// Sends a signal to each of these processes that still exists.
    pub(crate) fn signal(processes: &[u32], signal: Signal) {
        for id in processes {
            let id = i32::try_from(*id).ok().and_then(Pid::from_raw).expect("an identifier");
            let _ = kill_process(id, signal);
        }
    }

    /// Sends a signal to the command's process, but not to its descendants.
    pub(crate) fn signal_first(&self, signal: Signal) {
        Tree::signal(&[self.child.id()], signal);
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        until("the end of a process", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("a status")
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Stops all known processes, so that they start no others while the list is read again.
        Tree::signal(&self.processes(), Signal::STOP);
        Tree::signal(&self.processes(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Returns the IDs of a process and all its descendants, parents before children.
fn descendants(id: u32) -> Vec<u32> {
    let mut found = vec![id];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        found.extend(
            list.unwrap_or_default().split_whitespace().filter_map(|it| it.parse::<u32>().ok()),
        );
        next += 1;
    }
    found
}
