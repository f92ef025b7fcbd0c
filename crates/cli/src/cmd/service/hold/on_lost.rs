//! The command of `--on-lost`, which runs after the leadership was lost.

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;

use super::guarded::has_terminal;
use super::print_error;
use super::signals::Signals;

#[derive(Clone, Copy, Debug)]
pub(super) struct LeadershipLoss<'a> {
    pub(super) election: &'a str,
    pub(super) fence: &'a str,
    pub(super) reason: &'a str,
}

/// Runs the shell command of `--on-lost` until it ends, and passes signals on to it. If the command
/// fails, prints an error.
pub(super) async fn run_on_lost_command(
    command: &str,
    loss: LeadershipLoss<'_>,
    signals: &mut Signals,
) {
    let started = Command::new("sh")
        .args(["-c", command])
        .env("TENURE_LOCK", loss.election)
        .env("TENURE_FENCE", loss.fence)
        .env("TENURE_REASON", loss.reason)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return print_error(&format!("cannot run the command of --on-lost: {error}")),
    };
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let ended = loop {
        tokio::select! {
            biased;
            ended = child.wait() => break ended,
            signal = signals.next() => pass(id, signal),
        }
    };
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => print_error(&format!("the command of --on-lost failed: {status}")),
        Err(error) => print_error(&format!("the command of --on-lost failed: {error}")),
    }
}

/// Sends a signal to the command. Does nothing for SIGINT, SIGQUIT and SIGWINCH if this process
/// belongs to the foreground process group of its terminal. The terminal sends these signals to all
/// processes of this group, which includes the command. Also does nothing if `id` is `None`.
fn pass(id: Option<Pid>, signal: Signal) {
    let is_typed = [Signal::INT, Signal::QUIT, Signal::WINCH].contains(&signal);
    if let Some(id) = id.filter(|_| !is_typed || !has_terminal()) {
        // Ignores an error, because the command may have ended.
        let _ = kill_process(id, signal);
    }
}
