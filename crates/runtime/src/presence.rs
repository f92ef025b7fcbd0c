//! Who of the group is there, as one process sees it.

use tenure_core::{ProcessId, ProcessSet, Verdict};
use tokio::sync::watch;

/// By process, the session of it that is there; nothing for this process itself, for those who were
/// never met, have said goodbye, or are suspected.
pub type Present = Vec<Option<u64>>;

/// Keeps what is [`Present`], and tells it.
#[derive(Debug)]
pub(crate) struct Presence {
    /// The newest session that was met; 0 before the first.
    met: Vec<u64>,
    absent: ProcessSet,
    tell: watch::Sender<Present>,
}

impl Presence {
    pub(crate) fn new(size: u32) -> Self {
        let size = size as usize;
        let tell = watch::Sender::new(vec![None; size]);
        Presence { met: vec![0; size], absent: ProcessSet::new(), tell }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Present> {
        self.tell.subscribe()
    }

    /// Whether anybody is there besides this process.
    pub(crate) fn is_anybody_there(&self) -> bool {
        self.tell.borrow().iter().any(Option::is_some)
    }

    /// A connection carries messages of this session of a peer.
    pub(crate) fn meets(&mut self, peer: ProcessId, session: u64) {
        self.met[peer.index()] = session;
        self.publish(peer);
    }

    /// Somebody has an opinion of a peer.
    pub(crate) fn judged(&mut self, peer: ProcessId, verdict: Verdict) {
        match verdict {
            Verdict::Suspect => self.absent.insert(peer),
            Verdict::Trust => self.absent.remove(peer),
        };
        self.publish(peer);
    }

    fn publish(&self, peer: ProcessId) {
        let met = Some(self.met[peer.index()]).filter(|session| *session > 0);
        let now = met.filter(|_| !self.absent.contains(peer));
        self.tell
            .send_if_modified(|present| std::mem::replace(&mut present[peer.index()], now) != now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P2: ProcessId = ProcessId(1);

    #[test]
    fn whoever_was_met_is_there_until_it_is_suspected() {
        let mut presence = Presence::new(2);
        let mut watch = presence.watch();
        presence.judged(P2, Verdict::Suspect);
        presence.judged(P2, Verdict::Trust);
        assert!(!watch.has_changed().unwrap(), "it was never there");
        presence.meets(P2, 3);
        assert_eq!(*watch.borrow_and_update(), [None, Some(3)]);
        presence.meets(P2, 3);
        assert!(!watch.has_changed().unwrap() && presence.is_anybody_there());
        presence.judged(P2, Verdict::Suspect);
        assert_eq!(*watch.borrow_and_update(), [None, None]);
        presence.meets(P2, 4);
        assert!(!presence.is_anybody_there(), "a connection says nothing of who is suspected");
        presence.judged(P2, Verdict::Trust);
        assert_eq!(*watch.borrow_and_update(), [None, Some(4)]);
    }
}
