//! A command that is ended before anybody else may be let in.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use tenure_client::{Guard, Leading, Lost};

use super::child::Job;
use super::signals::Signals;
use crate::cmd::failure::Failure;

/// How long a process that is killed may take to be gone.
const DYING: Duration = Duration::from_millis(100);

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

    async fn lost(&self) -> Lost {
        match self {
            Held::Lock(guard) => guard.lost().await,
            Held::Office(leading) => leading.lost().await,
        }
    }

    /// Gives it up; if nobody hears that, it ends with its lease.
    pub(super) async fn give_up(self) {
        let _ = match self {
            Held::Lock(guard) => guard.release().await,
            Held::Office(leading) => leading.resign().await,
        };
    }
}

/// How a command came to its end.
#[derive(Debug)]
pub(super) enum End {
    /// By itself.
    Done(ExitStatus),
    /// What was held was lost, or was about to be, and the command was ended.
    Lost(Lost),
}

/// Runs a command while something is held. When no renewal was answered until `grace` before it
/// may not be claimed any more it is asked to end (TERM), and killed in time.
pub(super) async fn supervise(
    held: &Held,
    name: &str,
    command: &[OsString],
    grace: Duration,
    signals: &mut Signals,
) -> Result<End, Failure> {
    let Some(deadline) = held.deadline() else { return Ok(End::Lost(held.lost().await)) };
    let variables = [
        ("TENURE_LOCK", name.to_owned()),
        ("TENURE_FENCE", held.fence().to_string()),
        ("TENURE_DEADLINE", unix_seconds(deadline).to_string()),
    ];
    let mut job = Job::start(command, &variables)
        .map_err(|error| Failure::environment(format!("cannot start a process: {error}")))?;
    let mut asked = false;
    let mut lost = std::pin::pin!(held.lost());
    loop {
        // Nothing once it may not be claimed any more: a process that was stopped learns it here.
        let left = held.deadline().map(|deadline| {
            deadline.saturating_duration_since(Instant::now()).saturating_sub(DYING)
        });
        let next = match left {
            None | Some(Duration::ZERO) => {
                return Ok(End::Lost(kill(&mut job, held).await));
            }
            Some(left) if asked => left,
            Some(left) if left <= grace => {
                job.signal(Signal::TERM);
                asked = true;
                continue;
            }
            Some(left) => left - grace,
        };
        tokio::select! {
            biased;
            _ = &mut lost => return Ok(End::Lost(kill(&mut job, held).await)),
            ended = job.ended() => {
                let ended = ended.map_err(Failure::environment)?;
                if !asked {
                    return Ok(End::Done(ended));
                }
                // Nor does what it has started go on.
                job.signal(Signal::KILL);
                return Ok(End::Lost(Lost::Silence));
            }
            signal = signals.next() => job.pass(signal),
            () = tokio::time::sleep(next) => {}
        }
    }
}

/// It is another's any moment.
async fn kill(job: &mut Job, held: &Held) -> Lost {
    job.signal(Signal::KILL);
    let _ = job.ended().await;
    tokio::select! {
        biased;
        lost = held.lost() => lost,
        () = tokio::time::sleep(DYING) => Lost::Silence,
    }
}

/// A moment as seconds since 1970, none too many.
fn unix_seconds(moment: Instant) -> u64 {
    let left = moment.saturating_duration_since(Instant::now());
    let then = SystemTime::now() + left;
    then.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
