use std::collections::HashMap;

use tenure_core::ProcessId;

use crate::Kind;

/// A turn in the life of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Crashed,
    Recovered,
    Stopped,
    Continued,
}

/// Who is up, and in which session.
///
/// Writers differ: a simulator writes *crash* and *recover*, a parent *crash* and its node
/// *boot*, a node that was killed by a stranger only *boot* again. All come to the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives(HashMap<ProcessId, Life>);

#[derive(Clone, Copy, Debug, Default)]
struct Life {
    down: bool,
    stopped: bool,
    /// The session of its last boot.
    booted: Option<u64>,
}

impl Lives {
    /// What a record means for the life of its process.
    pub(super) fn read(&mut self, at: ProcessId, session: u64, kind: &Kind) -> &'static [Turn] {
        let life = self.0.entry(at).or_default();
        match kind {
            Kind::Boot => {
                let again = life.booted.replace(session).is_some_and(|before| before != session);
                let stopped = std::mem::take(&mut life.stopped);
                match (std::mem::take(&mut life.down), again, stopped) {
                    (true, ..) => &[Turn::Recovered],
                    (false, true, _) => &[Turn::Crashed, Turn::Recovered],
                    (false, false, true) => &[Turn::Continued],
                    (false, false, false) => &[],
                }
            }
            Kind::Recover if life.down => {
                life.down = false;
                life.booted = Some(session);
                &[Turn::Recovered]
            }
            Kind::Crash | Kind::End if !life.down => {
                *life = Life { down: true, stopped: false, ..*life };
                &[Turn::Crashed]
            }
            Kind::Stop if !life.down && !life.stopped => {
                life.stopped = true;
                &[Turn::Stopped]
            }
            Kind::Continue if life.stopped => {
                life.stopped = false;
                &[Turn::Continued]
            }
            _ => &[],
        }
    }

    pub(super) fn is_down(&self, at: ProcessId) -> bool {
        self.0.get(&at).is_some_and(|life| life.down)
    }

    pub(super) fn anybody_stopped(&self) -> bool {
        self.0.values().any(|life| life.stopped)
    }
}
