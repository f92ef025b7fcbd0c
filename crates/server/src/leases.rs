//! The leases that a leader counts: what decides is of `tenure-session`, as in every search; here
//! it has a clock.

use std::time::{Duration, Instant};

use tenure_session::{Lessor, Parts, RunOut, Timers};
use tenure_store::{Command, Expiry, LeaseChange, LeaseId, Note, Store};

use crate::errand::Renewal;

/// The most leases that one command ends, or notes.
pub(crate) const MOST: usize = 1000;

/// After how long the end of a lease is proposed again of which nobody knows what became.
const AGAIN: Duration = Duration::from_millis(200);

/// Longest delay of a note, so that one entry notes what many leases have left.
const NOTE_TOGETHER: Duration = Duration::from_millis(100);

/// Delay of a timer from which on this process was not scheduled. That time does not count: the
/// next part of a lease begins when its timer is seen to be due.
pub(crate) const LATE: Duration = Duration::from_millis(300);

/// When each lease runs out. Only a leader counts.
#[derive(Debug)]
pub(crate) struct Leases {
    /// The term in which we lead.
    term: Option<u64>,
    lessor: Lessor<LeaseId>,
    /// When the last parts of leases are over, and with them the leases.
    ends: Timers<LeaseId, Instant>,
    /// When other parts are over, of which what is left is noted.
    parts: Timers<LeaseId, Instant>,
}

impl Default for Leases {
    fn default() -> Self {
        Leases {
            term: None,
            lessor: Lessor::new(Parts::TENTHS),
            ends: Timers::default(),
            parts: Timers::default(),
        }
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
                    self.disarm(lease);
                }
                LeaseChange::Spared { lease, term, renewed } if self.term == Some(term) => {
                    let part = self.lessor.spared(lease, renewed);
                    self.arm(lease, part, now);
                }
                // Another leader saw it run out: our own count goes on.
                LeaseChange::Spared { .. } => {}
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
        let of_part = self.at(lease)?.saturating_duration_since(now);
        self.lessor.beyond(lease).map(|beyond| Duration::from_secs(beyond) + of_part)
    }

    /// Returns all leases, the one that expires first before the others.
    pub(crate) fn by_expiry(&self, store: &Store) -> Vec<LeaseId> {
        let expiry = |lease| {
            let of_part = self.at(lease)?;
            let beyond = self.lessor.beyond(lease)?;
            Some(of_part + Duration::from_secs(beyond))
        };
        let mut leases: Vec<_> = store.leases().map(|(lease, _)| (expiry(lease), lease)).collect();
        leases.sort_unstable();
        leases.into_iter().map(|(_, lease)| lease).collect()
    }

    /// When leases are to be looked at next. Notes wait a little, for others to be noted with them.
    pub(crate) fn next(&self) -> Option<Instant> {
        let notes = self.parts.next().map(|at| at + NOTE_TOGETHER);
        self.ends.next().into_iter().chain(notes).min()
    }

    /// The commands for what has run out by now: of parts of leases, and of leases. The others are
    /// not looked at.
    pub(crate) fn due(&mut self, store: &Store, now: Instant) -> Vec<Command> {
        let Some(term) = self.term else { return Vec::new() };
        let (mut notes, mut ends) = (Vec::new(), Vec::new());
        while notes.len() < MOST
            && ends.len() < MOST
            && let Some((lease, due)) = self.ends.fire(now).or_else(|| self.parts.fire(now))
        {
            let Some(renewed) = store.lease(lease).map(|known| known.renewed) else { continue };
            match self.lessor.run_out(lease, renewed) {
                RunOut::Note { left, part } => {
                    let from = if now - due < LATE { due } else { now };
                    self.arm(lease, Some(part), from);
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

    /// The commands that note what is left of leases before the lead is handed over, in whole
    /// seconds. Until the next leader leads, renewals are noted as well.
    pub(crate) fn notes(&mut self, store: &Store, now: Instant) -> Vec<Command> {
        let Some(term) = self.term else { return Vec::new() };
        let mut notes = Vec::new();
        for (lease, known) in store.leases() {
            let Some(left) = self.left(lease, now) else { continue };
            let whole = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            if let Some(left) = self.lessor.note(lease, whole) {
                notes.push(Note { lease, left, renewed: known.renewed });
            }
        }
        let command = |notes: &[Note]| Command::Checkpoint { term, leases: notes.to_vec() };
        notes.chunks(MOST).map(command).collect()
    }

    /// Nobody knows what became of a command of ours. A note is made up for by the next; the end of
    /// a lease is proposed again, and nobody renews it before that is decided.
    pub(crate) fn unanswered(&mut self, command: &Command, now: Instant) {
        if let Command::Expire { term, leases } = command
            && self.term == Some(*term)
        {
            for Expiry { lease, .. } in leases {
                // Whatever was granted, noted or spared in between has a timer of its own.
                if self.at(*lease).is_none() {
                    self.ends.arm(*lease, now + AGAIN);
                }
            }
        }
    }

    fn at(&self, lease: LeaseId) -> Option<Instant> {
        self.ends.at(lease).or_else(|| self.parts.at(lease))
    }

    fn disarm(&mut self, lease: LeaseId) {
        self.ends.disarm(lease);
        self.parts.disarm(lease);
    }

    fn arm(&mut self, lease: LeaseId, part: Option<u64>, from: Instant) {
        let Some(part) = part else { return };
        self.disarm(lease);
        let is_last = self.lessor.beyond(lease) == Some(0);
        let timers = if is_last { &mut self.ends } else { &mut self.parts };
        timers.arm(lease, from + Duration::from_secs(part));
    }
}
