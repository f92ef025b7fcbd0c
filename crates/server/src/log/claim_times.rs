//! Times at which claims were queued and granted, by the clock of this member. A claim is the place
//! of a client in the queue of a lock or an election.
//!
//! Every member keeps these times for its page for operators. Only the leader records durations as
//! metrics, so the sum over all members counts each claim once.

use std::collections::HashMap;
use std::time::Instant;

use tenure_runtime::DurationHistogram;
use tenure_store::{ApplyOutcome, Bytes, Claim, EventKind, Store, claim_from_key_value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimTime {
    /// Revision in which the key of the claim was created.
    fence: u64,
    /// Time at which this member applied the entry that queued the claim. `None` if the entry is of
    /// an earlier term: see [`ClaimTimes::term`].
    pub(crate) queued: Option<Instant>,
    /// Time at which the claim acquired its lock; `None` if it waits, or if the time is unknown.
    pub(crate) granted: Option<Instant>,
}

/// Times of all claims, and two histograms: how long claims waited for their locks, and how long
/// claims held their locks.
#[derive(Debug)]
pub(crate) struct ClaimTimes {
    /// Latest term that this member knows. A member may apply entries of earlier terms long after
    /// their commit, for instance after a restart. So it records no times for such entries.
    term: u64,
    is_leading: bool,
    times: HashMap<Bytes, ClaimTime>,
    pub(crate) waits: DurationHistogram,
    pub(crate) holds: DurationHistogram,
}

impl Default for ClaimTimes {
    fn default() -> Self {
        ClaimTimes {
            term: 0,
            is_leading: false,
            times: HashMap::new(),
            waits: DurationHistogram::new(DurationHistogram::SLOW_BOUNDS_SECONDS),
            holds: DurationHistogram::new(DurationHistogram::SLOW_BOUNDS_SECONDS),
        }
    }
}

impl ClaimTimes {
    /// Sets the latest term that this member knows. `is_leading` is true if this member leads in
    /// that term.
    pub(crate) fn set_term(&mut self, term: u64, is_leading: bool) {
        (self.term, self.is_leading) = (term, is_leading);
    }

    /// Records the times of the claims that a command has queued, granted or ended. `term` is the
    /// term of the command's log entry, and `now` is the time at which this member applied it.
    pub(crate) fn record_outcome(&mut self, term: u64, outcome: &ApplyOutcome, now: Instant) {
        let is_live = term == self.term;
        for claim in &outcome.ended {
            if self.get(claim).is_none() {
                continue;
            }
            let granted = self.times.remove(&claim.key).and_then(|it| it.granted);
            if let Some(granted) = granted.filter(|_| is_live && self.is_leading) {
                self.holds.record(now.saturating_duration_since(granted));
            }
        }
        for event in &outcome.events {
            let is_new = event.kind == EventKind::Put
                && event.kv.create_revision == event.revision()
                && event.kv.lease != 0;
            let claim = is_new.then(|| claim_from_key_value(&event.kv)).flatten();
            if let Some(claim) = claim.filter(|claim| !outcome.ended.contains(claim)) {
                let queued = is_live.then_some(now);
                let time = ClaimTime { fence: claim.fence, queued, granted: None };
                self.times.insert(claim.key, time);
            }
        }
        for claim in outcome.granted.iter().filter(|_| is_live) {
            let time = self.times.get_mut(&claim.key).filter(|it| it.fence == claim.fence);
            let Some(time) = time else { continue };
            time.granted = Some(now);
            if let Some(queued) = time.queued.filter(|_| self.is_leading) {
                self.waits.record(now.saturating_duration_since(queued));
            }
        }
    }

    /// Adapts the times after a snapshot has replaced the store. `store` is the new store. Removes
    /// the times of claims that `store` does not contain. Claims that are new to this member get no
    /// times.
    pub(crate) fn retain_existing_claims(&mut self, store: &Store) {
        let exists =
            |key: &Bytes, fence| store.get(key).is_some_and(|kv| kv.create_revision == fence);
        self.times.retain(|key, time| exists(key, time.fence));
    }

    /// Returns the times of a claim. Returns `None` if this member did not apply the entry that
    /// created the key of the claim.
    pub(crate) fn get(&self, claim: &Claim) -> Option<ClaimTime> {
        self.times.get(&claim.key).copied().filter(|it| it.fence == claim.fence)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_store::{AcquireLock, Command, LockMode, LogPosition};

    use super::*;

    /// A store, the times of its claims, and a simulated clock for the tests.
    struct Clocked {
        store: Store,
        times: ClaimTimes,
        now: Instant,
        index: u64,
    }

    impl Clocked {
        fn new(is_leading: bool) -> Self {
            let mut times = ClaimTimes::default();
            times.set_term(1, is_leading);
            Clocked { store: Store::default(), times, now: Instant::now(), index: 0 }
        }

        fn apply(&mut self, term: u64, command: Command) {
            self.index += 1;
            let outcome = self.store.apply(LogPosition { index: self.index, term }, command);
            assert!(outcome.result.is_ok(), "{outcome:?}");
            self.times.record_outcome(term, &outcome, self.now);
        }

        fn claim(&mut self, term: u64, lease: u64) {
            self.apply(term, Command::Grant { lease, ttl: 60 });
            let (mode, value) = (LockMode::Exclusive, Bytes::default());
            self.apply(
                term,
                Command::AcquireLock(AcquireLock { name: "a".into(), lease, mode, value }),
            );
        }

        fn pass(&mut self, seconds: u64) {
            self.now += Duration::from_secs(seconds);
        }

        /// Returns two pairs: one for the times that claims waited, and one for the times that
        /// claims held their locks. Each pair is the number of recorded times and their sum in
        /// seconds.
        fn recorded(&self) -> [(u64, u64); 2] {
            [&self.times.waits, &self.times.holds].map(|it| {
                let read = it.read();
                (read.count, read.sum.as_secs())
            })
        }
    }

    #[test]
    fn leader_records_waits_and_holds() {
        let mut clocked = Clocked::new(true);
        clocked.claim(1, 1);
        clocked.claim(1, 2);
        assert_eq!(clocked.recorded(), [(1, 0), (0, 0)]);
        clocked.pass(3);
        clocked.apply(1, Command::Revoke { lease: 1 });
        assert_eq!(clocked.recorded(), [(2, 3), (1, 3)]);
        clocked.pass(4);
        clocked.apply(1, Command::Revoke { lease: 2 });
        assert_eq!(clocked.recorded(), [(2, 3), (2, 7)]);
        assert!(clocked.times.times.is_empty());
    }

    #[test]
    fn follower_records_nothing() {
        let mut clocked = Clocked::new(false);
        clocked.claim(1, 1);
        clocked.apply(1, Command::Revoke { lease: 1 });
        assert_eq!(clocked.recorded(), [(0, 0), (0, 0)]);
    }

    #[test]
    fn entries_of_earlier_terms_are_not_measured() {
        let mut clocked = Clocked::new(true);
        clocked.times.set_term(2, true);
        clocked.claim(1, 1);
        clocked.pass(5);
        clocked.apply(2, Command::Revoke { lease: 1 });
        assert_eq!(clocked.recorded(), [(0, 0), (0, 0)]);
        clocked.claim(2, 2);
        assert_eq!(clocked.recorded(), [(1, 0), (0, 0)]);
    }
}
