//! The time of leases, which the log does not have: the leader of a term counts it, and proposes
//! what comes of it.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tenure_store::{Command, Expiry, Lease, LeaseChange, LeaseId, Store};

/// What is left of a lease is noted again when it has become less by so much.
const NOTED_EVERY: Duration = Duration::from_secs(5);

/// Leases of at most this length are never noted: a change of leader fills them.
const SHORT: u64 = 10;

/// The most leases that one command ends, or notes.
const MOST: usize = 1000;

/// When each lease runs out. Only a leader counts.
#[derive(Debug, Default)]
pub(crate) struct Lessor {
    /// The term in which we lead.
    term: Option<u64>,
    deadlines: HashMap<LeaseId, Instant>,
    order: BTreeSet<(Instant, LeaseId)>,
    /// Those whose end is proposed: nobody renews them before that is decided.
    ending: BTreeSet<LeaseId>,
    /// What was last proposed to be noted.
    noted: HashMap<LeaseId, u64>,
}

/// What may be done about a lease that somebody renews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Renewal {
    /// It is renewed for so many seconds.
    Renewed(u64),
    /// All of it has to be noted first: so many seconds.
    Noting(u64),
    /// Its end is proposed, and not decided yet.
    Ending,
    /// There is no such lease.
    Gone,
    /// We do not lead in that term.
    Deposed,
}

impl Lessor {
    /// We lead: each lease has what was noted of it, from now on.
    pub(crate) fn leads(&mut self, term: u64, store: &Store, now: Instant) {
        *self = Lessor { term: Some(term), ..Lessor::default() };
        for (lease, Lease { left, .. }) in store.leases() {
            self.set(lease, now + Duration::from_secs(*left));
        }
    }

    /// We do not.
    pub(crate) fn follows(&mut self) {
        *self = Lessor::default();
    }

    /// What a command did to leases.
    pub(crate) fn take(&mut self, changes: &[LeaseChange], now: Instant) {
        if self.term.is_none() {
            return;
        }
        for change in changes {
            match *change {
                LeaseChange::Left { lease, seconds } => {
                    let is_our_note = self.noted.get(&lease) == Some(&seconds);
                    if !is_our_note {
                        self.noted.remove(&lease);
                        self.set(lease, now + Duration::from_secs(seconds));
                    }
                }
                LeaseChange::Ended { lease } => self.forget(lease),
                LeaseChange::Spared { lease } => {
                    self.ending.remove(&lease);
                    self.set(lease, now + Duration::from_millis(100));
                }
            }
        }
    }

    /// Somebody renews a lease; a majority has confirmed since that we lead in this term.
    pub(crate) fn renew(
        &mut self,
        lease: LeaseId,
        term: u64,
        store: &Store,
        now: Instant,
    ) -> Renewal {
        if self.term != Some(term) {
            return Renewal::Deposed;
        }
        let Some(Lease { ttl, left, .. }) = store.lease(lease) else { return Renewal::Gone };
        if self.ending.contains(&lease) {
            return Renewal::Ending;
        }
        if left < ttl || self.noted.contains_key(&lease) {
            // What is on its way says less.
            self.noted.remove(&lease);
            return Renewal::Noting(*ttl);
        }
        self.set(lease, now + Duration::from_secs(*ttl));
        Renewal::Renewed(*ttl)
    }

    /// How much is left of a lease.
    pub(crate) fn left(&self, lease: LeaseId, now: Instant) -> Option<Duration> {
        self.deadlines.get(&lease).map(|deadline| deadline.saturating_duration_since(now))
    }

    /// When the next lease runs out.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(deadline, _)| *deadline)
    }

    /// The command that ends what has run out, if anything has.
    pub(crate) fn expire(&mut self, store: &Store, now: Instant) -> Option<Command> {
        let term = self.term?;
        let mut leases = Vec::new();
        while let Some((deadline, lease)) = self.order.first().copied()
            && deadline <= now
            && leases.len() < MOST
        {
            self.order.pop_first();
            let Some(known) = store.lease(lease) else { continue };
            self.ending.insert(lease);
            leases.push(Expiry { lease, renewed: known.renewed });
        }
        (!leases.is_empty()).then_some(Command::Expire { term, leases })
    }

    /// The end of these was proposed, and nobody knows what came of it.
    pub(crate) fn try_again(&mut self, command: &Command, now: Instant) {
        let Command::Expire { leases, .. } = command else { return };
        for Expiry { lease, .. } in leases {
            if self.ending.remove(lease) {
                self.set(*lease, now + Duration::from_millis(200));
            }
        }
    }

    /// The command that notes what is left of long leases that nobody renews, if there are any.
    pub(crate) fn note(&mut self, store: &Store, now: Instant) -> Option<Command> {
        let term = self.term?;
        let mut leases = Vec::new();
        for (lease, Lease { ttl, left, .. }) in store.leases().filter(|(_, it)| it.ttl > SHORT) {
            let Some(rest) = self.left(lease, now) else { continue };
            let known = self.noted.get(&lease).unwrap_or(left);
            // Rounded up: a new leader never ends a lease too early.
            let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
            let is_idle = seconds * 2 < *ttl && !self.ending.contains(&lease);
            if is_idle && known.saturating_sub(seconds) >= NOTED_EVERY.as_secs() {
                leases.push((lease, seconds));
            }
            if leases.len() == MOST {
                break;
            }
        }
        self.noted.extend(leases.iter().copied());
        (!leases.is_empty()).then_some(Command::Checkpoint { term, leases })
    }

    fn set(&mut self, lease: LeaseId, deadline: Instant) {
        if let Some(before) = self.deadlines.insert(lease, deadline) {
            self.order.remove(&(before, lease));
        }
        self.order.insert((deadline, lease));
    }

    fn forget(&mut self, lease: LeaseId) {
        self.ending.remove(&lease);
        self.noted.remove(&lease);
        if let Some(before) = self.deadlines.remove(&lease) {
            self.order.remove(&(before, lease));
        }
    }
}
