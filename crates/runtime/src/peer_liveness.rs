//! Liveness of the peers, as one process sees it.

use tenure_core::{PeerVerdict, ProcessId, ProcessSet};
use tokio::sync::watch;

/// For each process, by index: its newest session if it is a live peer. `None` for this process,
/// and for peers that are suspected, have said goodbye, or were never connected.
pub type LivePeerSessions = Vec<Option<u64>>;

#[derive(Debug)]
pub(crate) struct PeerLiveness {
    /// Newest session of each process that has connected, by the index of the process. 0 for a
    /// process that has not connected yet.
    newest_sessions: Vec<u64>,
    suspected: ProcessSet,
    live_peers: watch::Sender<LivePeerSessions>,
}

impl PeerLiveness {
    pub(crate) fn new(size: u32) -> Self {
        let size = size as usize;
        let live_peers = watch::Sender::new(vec![None; size]);
        PeerLiveness { newest_sessions: vec![0; size], suspected: ProcessSet::new(), live_peers }
    }

    pub(crate) fn watch_live_sessions(&self) -> watch::Receiver<LivePeerSessions> {
        self.live_peers.subscribe()
    }

    pub(crate) fn has_live_peers(&self) -> bool {
        self.live_peers.borrow().iter().any(Option::is_some)
    }

    pub(crate) fn on_peer_up(&mut self, peer: ProcessId, session: u64) {
        self.newest_sessions[peer.index()] = session;
        self.publish(peer);
    }

    pub(crate) fn record_verdict(&mut self, peer: ProcessId, verdict: PeerVerdict) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
        self.publish(peer);
    }

    fn publish(&self, peer: ProcessId) {
        let session = Some(self.newest_sessions[peer.index()]).filter(|session| *session > 0);
        let now = session.filter(|_| !self.suspected.contains(peer));
        self.live_peers
            .send_if_modified(|live| std::mem::replace(&mut live[peer.index()], now) != now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P2: ProcessId = ProcessId(1);

    #[test]
    fn connected_peer_is_alive_until_suspected() {
        let mut peer_liveness = PeerLiveness::new(2);
        let mut watch = peer_liveness.watch_live_sessions();
        peer_liveness.record_verdict(P2, PeerVerdict::Suspect);
        peer_liveness.record_verdict(P2, PeerVerdict::Trust);
        assert!(!watch.has_changed().unwrap(), "it was never connected");
        peer_liveness.on_peer_up(P2, 3);
        assert_eq!(*watch.borrow_and_update(), [None, Some(3)]);
        peer_liveness.on_peer_up(P2, 3);
        assert!(!watch.has_changed().unwrap() && peer_liveness.has_live_peers());
        peer_liveness.record_verdict(P2, PeerVerdict::Suspect);
        assert_eq!(*watch.borrow_and_update(), [None, None]);
        peer_liveness.on_peer_up(P2, 4);
        assert!(!peer_liveness.has_live_peers(), "a connection does not end a suspicion");
        peer_liveness.record_verdict(P2, PeerVerdict::Trust);
        assert_eq!(*watch.borrow_and_update(), [None, Some(4)]);
    }
}
