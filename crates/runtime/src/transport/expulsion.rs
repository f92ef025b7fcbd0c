//! Being out: when what peers refuse means that this node must stop claiming anything.

use std::sync::{Mutex, OnceLock};

use tenure_core::{ProcessId, ProcessSet};
use thiserror::Error;
use tokio::sync::Notify;

use super::refusal::{Refusal, Weight};
use crate::store::Registry;

/// A node is refused for good, and must not take part any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{by} refuses it for good: {}", .refusal.reproach())]
pub struct Expelled {
    /// Whose refusal decided it.
    pub by: ProcessId,
    /// Why it refused.
    pub refusal: Refusal,
}

/// What became of this node's standing in its group. It can only get worse.
#[derive(Debug)]
pub(crate) struct Expulsion {
    size: u32,
    /// Who says that it belongs to another group.
    strangers: Mutex<ProcessSet>,
    expelled: OnceLock<Expelled>,
    happened: Notify,
    /// Says whether this node has been a member, where that is kept.
    registry: Option<Registry>,
}

impl Expulsion {
    pub(crate) fn new(size: u32, registry: Option<Registry>) -> Self {
        let (strangers, expelled) = (Mutex::default(), OnceLock::new());
        Expulsion { size, strangers, expelled, happened: Notify::new(), registry }
    }

    /// A peer refuses this node with a code, in its own word.
    pub(crate) fn heed(&self, by: ProcessId, code: u8) {
        match Refusal::of_code(code) {
            // A process that takes the place of a member is refused until that is removed.
            Some(refusal) if refusal.weight() == Weight::Final && self.is_newcomer() => {}
            Some(refusal) if refusal.weight() == Weight::Final => self.expel(by, refusal),
            Some(refusal) => self.differs(by, refusal),
            None => {}
        }
    }

    /// A peer and this node belong to different groups. One of the two is wrong, and it is not the
    /// one that others agree with: this node, once those who are left are no majority.
    pub(crate) fn differs(&self, by: ProcessId, refusal: Refusal) {
        if refusal.weight() != Weight::Counted {
            return;
        }
        let mut strangers = self.strangers.lock().expect("no code panics while it holds them");
        strangers.insert(by);
        if (self.size - strangers.len()) * 2 <= self.size {
            self.expel(by, refusal);
        }
    }

    /// A peer takes this node for one of its group.
    pub(crate) fn agrees(&self, peer: ProcessId) {
        self.strangers.lock().expect("no code panics while it holds them").remove(peer);
    }

    fn is_newcomer(&self) -> bool {
        self.registry.as_ref().is_some_and(|registry| !registry.has_joined())
    }

    fn expel(&self, by: ProcessId, refusal: Refusal) {
        if self.expelled.set(Expelled { by, refusal }).is_ok() {
            self.happened.notify_one();
        }
    }

    pub(crate) fn now(&self) -> Option<Expelled> {
        self.expelled.get().copied()
    }

    /// Comes back once this node is out.
    pub(crate) async fn happens(&self) {
        self.happened.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: [ProcessId; 3] = [ProcessId(0), ProcessId(1), ProcessId(2)];

    #[test]
    fn one_word_suffices_from_whoever_knows_a_newer_session() {
        let expulsion = Expulsion::new(5, None);
        expulsion.heed(PEERS[0], Refusal::TooSlow.code());
        expulsion.heed(PEERS[0], 255);
        assert_eq!(expulsion.now(), None);
        expulsion.heed(PEERS[1], Refusal::Twin.code());
        expulsion.heed(PEERS[0], Refusal::OldSession.code());
        let first = Expelled { by: PEERS[1], refusal: Refusal::Twin };
        assert_eq!(expulsion.now(), Some(first));
    }

    #[test]
    fn one_mistaken_peer_of_five_expels_nobody() {
        let expulsion = Expulsion::new(5, None);
        for _ in 0..10 {
            expulsion.heed(PEERS[0], Refusal::WrongCluster.code());
        }
        expulsion.differs(PEERS[1], Refusal::WrongGroupSize);
        assert_eq!(expulsion.now(), None);
        expulsion.agrees(PEERS[0]);
        expulsion.heed(PEERS[2], Refusal::WrongCluster.code());
        assert_eq!(expulsion.now(), None);
        expulsion.heed(PEERS[0], Refusal::WrongCluster.code());
        assert_eq!(expulsion.now().map(|expelled| expelled.by), Some(PEERS[0]));
    }
}
