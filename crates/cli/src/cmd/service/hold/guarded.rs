//! The part of the wrapper that controls a running command. The guardian is a child process of the
//! wrapper. The command is a child process of the guardian, and may have descendants.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::signal::unix::{self, SignalKind};

use super::channel::{self, GuardianOrder, GuardianReport, send_stdin_descriptor};
use super::process_tree::{self, ForeignChildren};
use super::this_program;

#[derive(Clone, Copy, Debug)]
pub(super) struct KillTiming {
    /// Time before the deadline of the lock at which the guardian kills the command and its
    /// descendants.
    pub(super) margin: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
}

#[derive(Debug)]
pub(super) struct GuardedCommand {
    guardian: Pid,
    reports: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    children: unix::Signal,
    is_apart: bool,
    /// Exit status of the guardian; `None` while it runs.
    ended: Option<WaitStatus>,
    /// Children of this process that belong neither to the guardian nor to the command. When the
    /// guardian has ended, its children become children of this process, but are not added.
    foreign: ForeignChildren,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum GuardianEvent {
    Report(GuardianReport),
    /// The guardian has ended without reporting that the command has ended.
    GuardianEnded(Option<ExitStatus>),
}

impl GuardedCommand {
    /// Starts the command, with additional environment variables.
    ///
    /// At a terminal, the command stays in the foreground process group of this process. The
    /// command can then read the input, and the terminal sends an interrupt or a stop to both
    /// processes. Without a terminal, the command has a process group of its own. The guardian
    /// always has its own group, so that a stop at the terminal does not reach the guardian.
    ///
    /// # Errors
    ///
    /// An error of the operating system. Neither the guardian nor the command was started.
    pub(super) fn start(
        command: &[OsString],
        variables: &[(&str, String)],
        boot_deadline: Duration,
        timing: KillTiming,
    ) -> io::Result<GuardedCommand> {
        // If the guardian is killed, its children become children of this process.
        process_tree::adopt_orphans()?;
        let mut foreign = ForeignChildren::new();
        process_tree::record_foreign_children(&mut foreign, None);
        let is_apart = !has_terminal();
        let children = unix::signal(SignalKind::child())?;
        let (socket, theirs) = StdStream::pair()?;
        // Sends the descriptor before the guardian starts. The descriptor waits in the socket.
        // After the start no step may fail, because the caller releases the lock after an error.
        send_stdin_descriptor(&socket, io::stdin())?;
        socket.set_nonblocking(true)?;
        let (reports, orders) = UnixStream::from_std(socket)?.into_split();
        let reports = BufReader::new(reports).lines();
        let mut starting = this_program()?;
        starting.arg("guardian");
        for (name, value) in
            [("--deadline", boot_deadline), ("--margin", timing.margin), ("--grace", timing.grace)]
        {
            starting.args([name, &value.as_nanos().to_string()]);
        }
        if !is_apart {
            starting.args(["--group", &getpgrp().as_raw_pid().to_string()]);
        }
        let guardian = starting
            .arg("--")
            .args(command)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(OwnedFd::from(theirs))
            .process_group(0)
            .spawn()?;
        drop(starting);
        let guardian = Pid::from_child(&guardian);
        Ok(GuardedCommand { guardian, reports, orders, children, is_apart, ended: None, foreign })
    }

    /// Waits for the next event of the command or of the guardian. If the guardian is stopped,
    /// makes it continue. Dropping the future loses no event.
    pub(super) async fn next(&mut self) -> GuardianEvent {
        loop {
            self.reap();
            tokio::select! {
                biased;
                line = self.reports.next_line() => match line.ok().flatten() {
                    Some(line) => {
                        let Some(report) = channel::decode_line(&line) else { continue };
                        return GuardianEvent::Report(report);
                    }
                    None => {
                        let ended = self.wait_briefly_for_guardian().await;
                        return GuardianEvent::GuardianEnded(ended);
                    }
                },
                _ = self.children.recv() => {}
                () = tokio::time::sleep(process_tree::REAP_INTERVAL) => {}
            }
        }
    }

    /// Waits for a short time until the guardian has ended, and reaps it. Returns its exit status,
    /// or `None` if it still runs. Call this after the guardian's last report, or after it has
    /// closed the socket.
    pub(super) async fn wait_briefly_for_guardian(&mut self) -> Option<ExitStatus> {
        const USUAL_EXIT_TIME: Duration = Duration::from_millis(500);
        let ended = async {
            self.reap();
            while self.ended.is_none() && self.children.recv().await.is_some() {
                self.reap();
            }
        };
        // On a timeout the status stays unknown.
        let _ = tokio::time::timeout(USUAL_EXIT_TIME, ended).await;
        self.ended.map(|status| ExitStatus::from_raw(status.as_raw()))
    }

    fn reap(&mut self) {
        if self.ended.is_none() {
            // A foreign child may have ended, and its children are children of this process now.
            process_tree::record_foreign_children(&mut self.foreign, Some(self.guardian));
            process_tree::record_foreign_descendants(&mut self.foreign);
        }
        for (id, status) in process_tree::reap_children().changed {
            self.note(id, status);
        }
    }

    fn note(&mut self, id: Pid, status: WaitStatus) {
        if id != self.guardian {
            return;
        }
        if status.stopped() {
            // A suspended guardian cannot act, so continue it.
            let _ = kill_process(id, Signal::CONT);
        } else {
            self.ended = Some(status);
        }
    }

    /// Sends an order to the guardian. Ignores an error, because the end of the guardian is
    /// reported elsewhere. Dropping the future may leave a part of the order in the socket, which
    /// makes the next order unreadable.
    pub(super) async fn send_order(&mut self, order: GuardianOrder) {
        let _ = self.orders.write_all(channel::encode_line(&order).as_bytes()).await;
    }

    /// Returns the order to the guardian after this process has received `signal`. The order is to
    /// send the signal to the command, unless the terminal has already done so.
    pub(super) fn signal_order(&self, signal: Signal) -> GuardianOrder {
        let is_typed = [Signal::INT, Signal::QUIT, Signal::WINCH].contains(&signal);
        match is_typed && !self.is_apart {
            true => GuardianOrder::Typed(signal.as_raw()),
            false => GuardianOrder::Signal(signal.as_raw()),
        }
    }

    /// Kills the guardian and all its descendants directly, without an order to the guardian. Does
    /// not kill the other children of this process.
    ///
    /// # Errors
    ///
    /// Returns the processes that still exist after `limit`. The list is empty if `/proc` does not
    /// show them.
    pub(super) async fn kill_guardian_tree(
        &mut self,
        limit: Duration,
    ) -> Result<(), Vec<process_tree::Descendant>> {
        if cfg!(not(target_os = "linux")) && self.ended.is_none() {
            let _ = kill_process(self.guardian, Signal::KILL);
        }
        let mut left = Vec::new();
        let (note, report) = (|_, _| {}, |now: &[process_tree::Descendant]| left = now.to_vec());
        let ended =
            process_tree::kill_all(&mut self.foreign, limit, Some(limit), note, report).await;
        if ended { Ok(()) } else { Err(left) }
    }
}

/// Returns true if this process belongs to the foreground process group of its terminal. The
/// standard streams may be redirected. A command can still open the terminal by its name, for
/// instance to ask for a password.
pub(super) fn has_terminal() -> bool {
    let terminal = File::open("/dev/tty").and_then(|it| Ok(tcgetpgrp(it)?));
    terminal.is_ok_and(|group| group == getpgrp())
}

/// Converts an exit status to a number as a shell does.
pub(super) fn shell_exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
