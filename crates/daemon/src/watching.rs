//! What changes at a node while it runs, told as it changes: who leads, who came and left, how the
//! work goes.

use std::future::pending;
use std::time::Duration;

use tenure_core::{Fence, ProcessId};
use tenure_runtime::{Leadership, Present};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;
use tokio::time::interval;

use crate::boot::NodeError;
use crate::node::Reports;
use crate::report::Report;
use crate::work::{Figures, WorkError};

/// How often a node tells how far its work has got, if it has got any farther.
const PROGRESS: Duration = Duration::from_millis(200);

/// Where a node learns what changes.
pub(crate) struct Watching {
    pub(crate) leadership: Leadership,
    pub(crate) present: Receiver<Present>,
    /// Whether there is any work.
    pub(crate) works: bool,
    pub(crate) figures: Figures,
    pub(crate) granted: UnboundedReceiver<Fence>,
}

/// Reports what changes; returns only when the work fails.
pub(crate) async fn watch(
    mut watching: Watching,
    labour: &mut JoinHandle<Result<(), WorkError>>,
    report: Reports<'_>,
) -> NodeError {
    let mut ticks = interval(PROGRESS);
    let mut works = watching.works;
    let (mut term, mut told, mut there) = (0, (0, 0), Present::new());
    loop {
        tokio::select! {
            changed = watching.leadership.changed() => match changed {
                Ok(Some(now)) => {
                    term = now.number;
                    tracing::info!("{} leads in term {term}", now.leader);
                    report(Report::Elected { leader: now.leader.number(), term });
                }
                Ok(None) => {
                    tracing::info!("nobody leads any more; term {term} is over");
                    report(Report::Deposed { term });
                }
                Err(_) => pending().await,
            },
            Ok(()) = watching.present.changed() => {
                let now = watching.present.borrow_and_update().clone();
                changes(&there, &now).into_iter().for_each(&mut *report);
                there = now;
            }
            Some(fence) = watching.granted.recv() => {
                report(Report::Granted { fence: fence.to_string() });
            }
            _ = ticks.tick(), if works => {
                let (entries, refused) = watching.figures.read();
                if std::mem::replace(&mut told, (entries, refused)) != told {
                    report(Report::Progress { entries, refused });
                }
            }
            ended = &mut *labour, if works => {
                match ended {
                    Ok(Ok(())) => works = false,
                    Ok(Err(error)) => return NodeError::Work(error.to_string()),
                    Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
                }
                let (entries, refused) = watching.figures.read();
                report(Report::Done { entries, refused });
            }
        }
    }
}

/// Who came and who left, between two moments; of the first of all, nobody was there.
pub(crate) fn changes(before: &Present, now: &Present) -> Vec<Report> {
    let mut reports = Vec::new();
    for (index, session) in now.iter().enumerate() {
        let (peer, known) = (ProcessId::at(index), before.get(index).copied().flatten());
        if *session == known {
            continue;
        }
        if known.is_some() {
            tracing::info!("{peer} is not there any more");
            reports.push(Report::Left { process: peer.number() });
        }
        if let Some(session) = *session {
            tracing::info!("{peer} is there, in its session {session}");
            reports.push(Report::Came { process: peer.number(), session });
        }
    }
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told() {
        let told =
            |before: &[Option<u64>], now: &[Option<u64>]| changes(&before.to_vec(), &now.to_vec());
        let came = |process, session| Report::Came { process, session };
        assert_eq!(told(&[], &[None, Some(1), None]), [came(2, 1)]);
        assert_eq!(told(&[None, Some(1)], &[None, Some(1)]), []);
        assert_eq!(told(&[None, Some(1)], &[None, None]), [Report::Left { process: 2 }]);
        let again = [Report::Left { process: 2 }, came(2, 2)];
        assert_eq!(told(&[None, Some(1)], &[None, Some(2)]), again);
    }
}
