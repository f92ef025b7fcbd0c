//! Runs a command while a lock is held, and ends its process tree before the lock can be granted to
//! another client.
//!
//! Three parties can end the tree, so that it ends even if one of them is suspended or killed:
//!
//! - The guardian, which is the parent process of the command, kills the tree when the deadline
//!   comes near or when this process ends.
//! - This process kills the tree if the guardian does not do so in time. If the guardian is
//!   stopped, this process continues it. If the guardian is killed, this process adopts the
//!   orphans.
//! - The kernel kills the command when the guardian ends.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use tenure_client::{Client, LossReason};

use super::boot_clock::{self, Timer};
use super::break_requests::BreakRequests;
use super::channel::{GuardianOrder, GuardianReport};
use super::guarded::{GuardedCommand, GuardianEvent, KillTiming};
use super::held::HeldClaims;
use super::print_error;
use super::process_tree::{Descendant, format_list};
use super::signals::Signals;
use crate::cmd::failure::Failure;

#[derive(Debug)]
pub(super) enum CommandOutcome {
    /// The lock was lost before the command was started, for the reason given.
    NotStarted(String),
    /// The command ended by itself, with all its descendants.
    Done(ExitStatus),
    /// The command was killed with all its descendants, for the reason given.
    Killed(String),
    /// The command was killed for the reason given, but these processes still exist. Therefore the
    /// lock must not be released.
    Survivors(String, Vec<Descendant>),
}

#[derive(Debug)]
pub(super) struct Supervisor<'a> {
    pub(super) held: &'a HeldClaims,
    /// Client of the service. Its last failure is the reason why renewals did not succeed.
    pub(super) client: &'a Client,
    pub(super) name: &'a str,
    pub(super) timing: KillTiming,
}

impl Supervisor<'_> {
    /// Runs the command until the command and all its descendants have ended. Ends these processes
    /// if the lock is lost or its deadline comes near. Also ends them if another client requests
    /// the lock through `requests`, or if another candidate must lead.
    ///
    /// # Errors
    ///
    /// The command was not started.
    pub(super) async fn run(
        &self,
        command: &[OsString],
        signals: &mut Signals,
        requests: &mut BreakRequests,
    ) -> Result<CommandOutcome, Failure> {
        let held = self.held;
        let mut deadlines = held.deadlines();
        let Some(deadline) = held.deadline() else {
            return Ok(CommandOutcome::NotStarted(self.describe_loss(held.lost().await)));
        };
        let cannot = Failure::cannot("start a process");
        let timer = Timer::new().map_err(&cannot)?;
        let mut at = boot_clock::from_instant(deadline);
        let mut guarded = self.start(command, deadline, at).map_err(cannot)?;
        let mut lost = std::pin::pin!(held.lost());
        let mut preferred = std::pin::pin!(held.transfer_requested());
        // Reason for which the command ends although the lock is still held.
        let mut broken: Option<String> = None;
        loop {
            let latest = at.saturating_sub(self.timing.margin / 2);
            // The timer precedes the signals: a stream of signals must not delay the deadline.
            let order = tokio::select! {
                biased;
                reason = &mut lost => {
                    let is_deadline = reason == LossReason::NotRenewed;
                    let reason = broken.unwrap_or_else(|| self.describe_loss(reason));
                    return Ok(self.kill(guarded, reason, is_deadline).await);
                }
                event = guarded.next() => {
                    if let Some(end) = self.handle(&mut guarded, event, broken.as_deref()).await? {
                        return Ok(end);
                    }
                    continue;
                }
                Some(deadline) = deadlines.next(), if broken.is_none() => {
                    at = boot_clock::from_instant(deadline);
                    GuardianOrder::Deadline(at)
                }
                // The guardian should have killed the tree by now.
                () = timer.sleep_until(latest) => {
                    let reason =
                        broken.unwrap_or_else(|| self.describe_loss(LossReason::NotRenewed));
                    return Ok(self.kill(guarded, reason, true).await);
                }
                reason = requests.next_break_reason_or(&mut preferred), if broken.is_none() => {
                    broken = Some(self.lost_because(&reason));
                    // The guardian sends TERM at once, and KILL after the grace period.
                    let reserved = self.timing.margin + self.timing.grace;
                    at = at.min(boot_clock::now() + reserved);
                    GuardianOrder::Deadline(at)
                }
                signal = signals.next() => guarded.signal_order(signal),
            };
            // A guardian that does not read its orders must not delay the deadline either.
            let latest = at.saturating_sub(self.timing.margin / 2);
            tokio::select! {
                biased;
                () = guarded.send_order(order) => {}
                () = timer.sleep_until(latest) => {}
            }
        }
    }

    /// Starts the command. `deadline` and `at` are both the deadline of the lock. `deadline` is an
    /// instant, and `at` is a time since boot.
    fn start(
        &self,
        command: &[OsString],
        deadline: Instant,
        at: Duration,
    ) -> io::Result<GuardedCommand> {
        let variables = [
            ("TENURE_LOCK", self.name.to_owned()),
            ("TENURE_FENCE", self.held.comma_separated_fences()),
            ("TENURE_DEADLINE", unix_seconds(deadline).to_string()),
        ];
        GuardedCommand::start(command, &variables, at, self.timing)
    }

    /// Handles an event of the command. `broken` is the reason that another client gave for
    /// breaking the lock, if any. Returns how the command ended; `None` if it still runs.
    ///
    /// # Errors
    ///
    /// The command could not be started.
    async fn handle(
        &self,
        guarded: &mut GuardedCommand,
        event: GuardianEvent,
        broken: Option<&str>,
    ) -> Result<Option<CommandOutcome>, Failure> {
        if let GuardianEvent::Report(
            GuardianReport::Ended { .. }
            | GuardianReport::NotStarted
            | GuardianReport::CannotStart(_),
        ) = event
        {
            // Waits until the guardian has ended as well, so that it does not outlive this process.
            guarded.wait_briefly_for_guardian().await;
        }
        let not_renewed = || self.describe_loss(LossReason::NotRenewed);
        let loss = || broken.map_or_else(not_renewed, str::to_owned);
        Ok(match event {
            GuardianEvent::Report(GuardianReport::NotStarted) => {
                Some(CommandOutcome::NotStarted(loss()))
            }
            GuardianEvent::Report(GuardianReport::CannotStart(error)) => {
                return Err(Failure::cannot("start a process")(error));
            }
            GuardianEvent::Report(GuardianReport::Ended { is_expired: true, .. }) => {
                Some(CommandOutcome::Killed(loss()))
            }
            GuardianEvent::Report(GuardianReport::Ended { status, .. }) => {
                Some(CommandOutcome::Done(ExitStatus::from_raw(status)))
            }
            GuardianEvent::Report(GuardianReport::Survivors(names)) => {
                let name = self.name;
                print_error(&format!(
                    "`{name}`: the command left processes running, ending them: {names}"
                ));
                None
            }
            GuardianEvent::Report(GuardianReport::Stuck(names)) => {
                let name = self.name;
                print_error(&format!("`{name}` stays held: processes cannot be killed: {names}"));
                None
            }
            GuardianEvent::GuardianEnded(status) => {
                let how = status.map_or("unknown status".to_owned(), |it| it.to_string());
                let reason = format!("`{}`: the guardian process ended early ({how})", self.name);
                Some(self.kill_tree(guarded, reason).await)
            }
        })
    }

    /// Orders the guardian, which is the parent process of the command, to kill the process tree.
    /// If the guardian does not kill the tree in time, kills the tree directly. The command gets no
    /// time to end by itself, because the lock may be granted to another client at any moment.
    ///
    /// If `is_deadline` is true, the lock is lost because its deadline has passed or comes near.
    /// The command may then have ended by itself in time, while this process was stopped. Its
    /// status is then the result.
    async fn kill(
        &self,
        mut guarded: GuardedCommand,
        reason: String,
        is_deadline: bool,
    ) -> CommandOutcome {
        let ended = async {
            guarded.send_order(GuardianOrder::Kill).await;
            loop {
                let outcome = match guarded.next().await {
                    GuardianEvent::Report(GuardianReport::Ended { status, is_expired: false })
                        if is_deadline =>
                    {
                        CommandOutcome::Done(ExitStatus::from_raw(status))
                    }
                    GuardianEvent::Report(GuardianReport::Ended { .. }) => {
                        CommandOutcome::Killed(reason.clone())
                    }
                    GuardianEvent::Report(
                        GuardianReport::NotStarted | GuardianReport::CannotStart(_),
                    ) => CommandOutcome::NotStarted(reason.clone()),
                    GuardianEvent::Report(
                        GuardianReport::Survivors(_) | GuardianReport::Stuck(_),
                    ) => continue,
                    GuardianEvent::GuardianEnded(_) => return None,
                };
                guarded.wait_briefly_for_guardian().await;
                return Some(outcome);
            }
        };
        let limit = self.timing.margin / 4;
        match tokio::time::timeout(limit, ended).await {
            Ok(Some(outcome)) => outcome,
            _ => self.kill_tree(&mut guarded, reason).await,
        }
    }

    async fn kill_tree(&self, guarded: &mut GuardedCommand, reason: String) -> CommandOutcome {
        /// Time within which killed processes end. A process ends later only if the kernel delays
        /// its end.
        const KILL_TIMEOUT: Duration = Duration::from_secs(2);
        match guarded.kill_guardian_tree(KILL_TIMEOUT).await {
            Ok(()) => CommandOutcome::Killed(reason),
            Err(left) => CommandOutcome::Survivors(reason, left),
        }
    }

    /// Describes the loss. If no renewal succeeded, includes the last failure at each endpoint.
    fn describe_loss(&self, reason: LossReason) -> String {
        match self.client.endpoint_failures() {
            Some(failure) if reason == LossReason::NotRenewed => {
                self.lost_because(&format!("{reason}: {failure}"))
            }
            _ => self.lost_because(&reason),
        }
    }

    fn lost_because(&self, reason: &dyn fmt::Display) -> String {
        format!("`{}` was lost: {reason}", self.name)
    }
}

pub(super) fn warn_survivors(left: &[Descendant]) {
    print_error(&format!(
        "processes cannot be killed and may run concurrently with the next holder: {}",
        format_list(left)
    ));
}

/// Converts an instant to seconds since 1970, rounded down.
fn unix_seconds(moment: Instant) -> u64 {
    let left = moment.saturating_duration_since(Instant::now());
    let then = SystemTime::now() + left;
    then.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
