//! The leases that a leader counts: what decides is of `tenure-session`, as in every search; here
//! it has a clock.

use std::time::{Duration, Instant};

use tenure_session::{Lessor, Parts, RunOut, Timers};
use tenure_store::{Command, Expiry, LeaseChange, LeaseId, Note, Store};

use crate::errand::Renewal;

/// In seconds. What is left of a lease that nobody renews is noted every five.
const PARTS: Parts = Parts { short: 10, every: 5 };

/// The most leases that one command ends, or notes.
const MOST: usize = 1000;

/// After how long the end of a lease is proposed again of which nobody knows what became.
const AGAIN: Duration = Duration::from_millis(200);

/// When each lease runs out. Only a leader counts.
#[derive(Debug)]
pub(crate) struct Leases {
    /// The term in which we lead.
    term: Option<u64>,
    lessor: Lessor<LeaseId>,
    timers: Timers<LeaseId, Instant>,
}

impl Default for Leases {
    fn default() -> Self {
        Leases { term: None, lessor: Lessor::new(PARTS), timers: Timers::default() }
    }
}

impl Leases {
    /// We lead: each lease has what was noted of it, from now on.
    pub(crate) fn leads(&mut self, term: u64, store: &Store, now: Instant) {
        *self = Leases { term: Some(term), ..Leases::default() };
        for (lease, known) in store.leases() {
            let part = self.lessor.left(lease, known.left, known.ttl);
            self.arm(lease, part, now);
        }
    }

    /// We do not.
    pub(crate) fn follows(&mut self) {
        *self = Leases::default();
    }

    /// What a command did to leases, in the store that it made.
    pub(crate) fn take(&mut self, changes: &[LeaseChange], store: &Store, now: Instant) {
        if self.term.is_none() {
            return;
        }
        for change in changes {
            match *change {
                LeaseChange::Left { lease, seconds } => {
                    let all = store.lease(lease).map_or(seconds, |known| known.ttl);
                    let part = self.lessor.left(lease, seconds, all);
                    self.arm(lease, part, now);
                }
                LeaseChange::Ended { lease } => {
                    self.lessor.ended(lease);
                    self.timers.disarm(lease);
                }
                LeaseChange::Spared { lease } => {
                    let part = self.lessor.spared(lease);
                    self.arm(lease, part, now);
                }
            }
        }
    }

    /// Somebody renews a lease; a majority has confirmed since that we lead in this term.
    pub(crate) fn renew(&mut self, lease: LeaseId, term: u64, store: &Store) -> Renewal {
        if self.term != Some(term) {
            return Renewal::Deposed;
        }
        let renewal = self.lessor.renew(lease);
        match renewal {
            tenure_session::Renewal::Answered { part } => {
                self.arm(lease, Some(part), Instant::now());
                store.lease(lease).map_or(Renewal::Gone, |known| Renewal::Renewed(known.ttl))
            }
            tenure_session::Renewal::Noted { all } => Renewal::Noting(all),
            tenure_session::Renewal::Waits => Renewal::Ending,
            tenure_session::Renewal::Gone => Renewal::Gone,
        }
    }

    /// How much is left of a lease.
    pub(crate) fn left(&self, lease: LeaseId, now: Instant) -> Option<Duration> {
        let of_part = self.timers.at(lease)?.saturating_duration_since(now);
        self.lessor.beyond(lease).map(|beyond| Duration::from_secs(beyond) + of_part)
    }

    /// When the next lease is to be looked at.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The commands for what has run out by now: of parts of leases, and of leases. The others are
    /// not looked at.
    pub(crate) fn due(&mut self, store: &Store, now: Instant) -> Vec<Command> {
        let Some(term) = self.term else { return Vec::new() };
        let (mut notes, mut ends) = (Vec::new(), Vec::new());
        while notes.len() < MOST
            && ends.len() < MOST
            && let Some(lease) = self.timers.fire(now)
        {
            let Some(renewed) = store.lease(lease).map(|known| known.renewed) else { continue };
            match self.lessor.run_out(lease) {
                RunOut::Note { left, part } => {
                    self.arm(lease, Some(part), now);
                    notes.push(Note { lease, left, renewed });
                }
                RunOut::End => ends.push(Expiry { lease, renewed }),
                RunOut::Nothing => {}
            }
        }
        let notes = (!notes.is_empty()).then_some(Command::Checkpoint { term, leases: notes });
        let ends = (!ends.is_empty()).then_some(Command::Expire { term, leases: ends });
        ends.into_iter().chain(notes).collect()
    }

    /// Nobody knows what became of a command of ours. A note is made up for by the next; the end of
    /// a lease is proposed again, and nobody renews it before that is decided.
    pub(crate) fn unanswered(&mut self, command: &Command, now: Instant) {
        if let Command::Expire { term, leases } = command
            && self.term == Some(*term)
        {
            for Expiry { lease, .. } in leases {
                // Whatever was granted, noted or spared in between has a timer of its own.
                if self.timers.at(*lease).is_none() {
                    self.timers.arm(*lease, now + AGAIN);
                }
            }
        }
    }

    fn arm(&mut self, lease: LeaseId, part: Option<u64>, now: Instant) {
        if let Some(part) = part {
            self.timers.arm(lease, now + Duration::from_secs(part));
        }
    }
}
