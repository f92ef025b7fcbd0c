//! The command that runs while something is held: a process, and those that it starts.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group};
use rustix::termios::tcgetpgrp;
use tokio::process::{Child, Command};

/// A command that runs.
#[derive(Debug)]
pub(super) struct Job {
    child: Child,
    id: Option<Pid>,
    /// Whether it has a process group of its own.
    is_apart: bool,
}

impl Job {
    /// Starts it, with these variables beside those of this process.
    ///
    /// At a terminal it stays in the process group of this one, which is what has the terminal: it
    /// reads what is typed, and an interrupt or a stop that is typed is for both. Elsewhere it has
    /// a group of its own.
    pub(super) fn start(command: &[OsString], variables: &[(&str, String)]) -> io::Result<Job> {
        let is_apart = !has_terminal();
        let mut starting = Command::new(std::env::current_exe()?);
        starting
            .args(["exec-under", "--parent", &std::process::id().to_string(), "--"])
            .args(command)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .kill_on_drop(true);
        if is_apart {
            starting.process_group(0);
        }
        let child = starting.spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Job { child, id, is_apart })
    }

    /// Waits until it ends.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Sends it a signal, and to all that it started.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(id) = self.id else { return };
        // Who has ended is not there to be told.
        let _ = match self.is_apart {
            true => kill_process_group(id, signal),
            false => kill_process(id, signal),
        };
    }

    /// Passes on what was sent to this process, unless the terminal has sent it to both.
    pub(super) fn pass(&self, signal: Signal) {
        let is_typed = [Signal::INT, Signal::QUIT, Signal::WINCH].contains(&signal);
        if self.is_apart || !is_typed {
            self.signal(signal);
        }
    }
}

/// Whether this process may read from a terminal.
fn has_terminal() -> bool {
    let input = io::stdin();
    input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group == getpgrp())
}

/// A status as a shell would tell it.
pub(super) fn told(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
