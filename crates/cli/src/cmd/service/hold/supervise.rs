//! Runs a command while a lock is held, and ends its process tree before the lock can pass on.
//!
//! Three parties can end the tree, so that it ends although one of them is stopped or killed:
//!
//! - the guardian, when the deadline comes near or this process ends;
//! - this process, which receives the orphans if the guardian is killed, continues a guardian that
//!   is stopped, and kills the tree itself somewhat later than the guardian should have;
//! - the kernel, which kills the command itself when the guardian ends.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use tenure_client::{Deadlines, Guard, Leading, Lost};

use super::boot_clock::{self, Timer};
use super::channel::{Order, Report};
use super::guarded::{Event, Guarded, Timing};
use super::say;
use super::signals::Signals;
use super::tree::{Survivor, listed};
use crate::cmd::failure::Failure;

/// What is held while a command runs.
#[derive(Debug)]
pub(super) enum Held {
    Lock(Guard),
    Office(Leading),
}

impl Held {
    fn fence(&self) -> u64 {
        match self {
            Held::Lock(guard) => guard.fence(),
            Held::Office(leading) => leading.fence(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Held::Lock(guard) => guard.deadline(),
            Held::Office(leading) => leading.deadline(),
        }
    }

    fn deadlines(&self) -> Deadlines {
        match self {
            Held::Lock(guard) => guard.deadlines(),
            Held::Office(leading) => leading.deadlines(),
        }
    }

    async fn lost(&self) -> Lost {
        match self {
            Held::Lock(guard) => guard.lost().await,
            Held::Office(leading) => leading.lost().await,
        }
    }

    /// Gives it up; if the service cannot be reached, it ends with its lease.
    pub(super) async fn give_up(self) {
        let _ = match self {
            Held::Lock(guard) => guard.release().await,
            Held::Office(leading) => leading.resign().await,
        };
    }
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, with all its descendants.
    Done(ExitStatus),
    /// It was killed with all its descendants, for the reason given.
    Killed(String),
    /// It was killed for the reason given, but these processes are left. The lock must not be
    /// given up.
    Left(String, Vec<Survivor>),
}

/// A command, and the lock under which it runs.
#[derive(Debug)]
pub(super) struct Supervised<'a> {
    pub(super) held: &'a Held,
    pub(super) name: &'a str,
    pub(super) timing: Timing,
}

impl Supervised<'_> {
    /// Runs the command, until it and all its descendants have ended.
    pub(super) async fn run(
        &self,
        command: &[OsString],
        signals: &mut Signals,
    ) -> Result<End, Failure> {
        let held = self.held;
        let mut deadlines = held.deadlines();
        let Some(deadline) = held.deadline() else {
            return Ok(End::Killed(self.lost_because(held.lost().await)));
        };
        let cannot = |error| Failure::environment(format!("cannot start a process: {error}"));
        let timer = Timer::new().map_err(cannot)?;
        let mut at = boot_clock::of(deadline);
        let variables = [
            ("TENURE_LOCK", self.name.to_owned()),
            ("TENURE_FENCE", held.fence().to_string()),
            ("TENURE_DEADLINE", unix_seconds(deadline).to_string()),
        ];
        let mut guarded = Guarded::start(command, &variables, at, self.timing).map_err(cannot)?;
        let mut lost = std::pin::pin!(held.lost());
        loop {
            let latest = at.saturating_sub(self.timing.margin / 2);
            tokio::select! {
                biased;
                why = &mut lost => return Ok(self.kill(guarded, why).await),
                event = guarded.next() => {
                    if let Some(end) = self.handle(&mut guarded, event).await {
                        return Ok(end);
                    }
                }
                Some(deadline) = deadlines.next() => {
                    at = boot_clock::of(deadline);
                    guarded.order(Order::Deadline(at)).await;
                }
                signal = signals.next() => guarded.pass(signal).await,
                // The guardian should have done it by now.
                () = timer.reached(latest) => return Ok(self.kill(guarded, Lost::Silence).await),
            }
        }
    }

    async fn handle(&self, guarded: &mut Guarded, event: Event) -> Option<End> {
        match event {
            Event::Report(Report::Ended { is_expired: true, .. }) => {
                Some(End::Killed(self.lost_because(Lost::Silence)))
            }
            Event::Report(Report::Ended { status, .. }) => {
                Some(End::Done(ExitStatus::from_raw(status)))
            }
            Event::Report(Report::Left(names)) => {
                let name = self.name;
                say(&format!("`{name}`: the command left processes running, ending them: {names}"));
                None
            }
            Event::Report(Report::Stuck(names)) => {
                let name = self.name;
                say(&format!("`{name}` stays held: processes cannot be ended: {names}"));
                None
            }
            Event::GuardianEnded(status) => {
                let how = status.map_or("unknown status".to_owned(), |it| it.to_string());
                let why = format!("`{}`: the guardian process ended early ({how})", self.name);
                Some(self.end_tree(guarded, why).await)
            }
        }
    }

    /// The lock may be granted to another client at any moment.
    async fn kill(&self, mut guarded: Guarded, why: Lost) -> End {
        let why = self.lost_because(why);
        guarded.order(Order::Kill).await;
        let ended = async {
            loop {
                match guarded.next().await {
                    Event::Report(Report::Ended { .. }) => return true,
                    Event::Report(_) => {}
                    Event::GuardianEnded(_) => return false,
                }
            }
        };
        let patience = self.timing.margin / 4;
        match tokio::time::timeout(patience, ended).await {
            Ok(true) => End::Killed(why),
            _ => self.end_tree(&mut guarded, why).await,
        }
    }

    async fn end_tree(&self, guarded: &mut Guarded, why: String) -> End {
        /// A process that is killed has ended by then, unless the kernel cannot end it.
        const LIMIT: Duration = Duration::from_secs(2);
        match guarded.kill(LIMIT).await {
            Ok(()) => End::Killed(why),
            Err(left) => End::Left(why, left),
        }
    }

    fn lost_because(&self, why: Lost) -> String {
        format!("`{}` was lost: {why}", self.name)
    }
}

/// Warns about processes that run on although the lock is no longer held for sure.
pub(super) fn warn_of(left: &[Survivor]) {
    say(&format!("processes cannot be ended and may run beside the next holder: {}", listed(left)));
}

/// Converts an instant to seconds since 1970, rounded down.
fn unix_seconds(moment: Instant) -> u64 {
    let left = moment.saturating_duration_since(Instant::now());
    let then = SystemTime::now() + left;
    then.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
