//! The service: one committed log, of which the store is made, and whoever leads it.
//!
//! That the log is one is what `raft-log` is for, and is not shown again here. What a change of
//! leader does is: another has the store, and of leases what was noted; and the one before may
//! still be there, to be asked by whoever has not heard of it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::{Effects, ProcessId};
use tenure_session::{Lessor, Parts, Renewal, RunOut};
use tenure_store::{
    At, Command, Enqueue, Expiry, Kind, LeaseChange, Limits, Note, Range, Share, SortOrder,
    SortTarget, Span, Store, Watch, claim_key,
};

use super::config::PARTS;
use super::{Leased, Message, Timer};
use crate::mutex::Ticket;

/// The name of the lock.
const NAME: &[u8] = b"lock";

/// The service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Service {
    pub(super) store: Store,
    /// Which leader this is.
    term: u64,
    lessor: Lessor<u64>,
    /// Of leases whose end is being written: what `renewed` was when they ran out; nothing where
    /// their owner has left.
    ends: BTreeMap<u64, Option<u64>>,
    /// Who watches which key, by its lease.
    watches: BTreeMap<(ProcessId, Ticket), u64>,
    /// Whether the leader before this one is still there.
    pub(super) former: bool,
    /// By lease: how many of its parts have begun since all of it was left, less one for each
    /// change of leader since. It exists for the bound alone.
    begun: BTreeMap<u64, u64>,
}

/// An empty store: of a lease one second stands for one part.
pub(super) fn empty() -> Store {
    Store::new(Limits {
        events: 1000,
        bytes: 1 << 20,
        revisions: 1000,
        least_ttl: 1,
        operations: 8,
    })
}

/// The lease of a session: its process, and its ticket, in one number that people can read. It
/// comes again after a hundred thousand sessions, when the one before is long over.
pub(super) fn lease_of(process: ProcessId, ticket: Ticket) -> u64 {
    let (boot, number) = (ticket.boot % 1_000, ticket.number % 100_000);
    u64::from(process.number()) * 100_000_000 + boot * 100_000 + number
}

impl Service {
    pub(super) fn of(store: Store, term: u64) -> Self {
        Service {
            store,
            term,
            lessor: Lessor::new(Parts::TENTHS),
            ends: BTreeMap::new(),
            watches: BTreeMap::new(),
            former: false,
            begun: BTreeMap::new(),
        }
    }

    fn apply(&mut self, command: Command) -> tenure_store::Outcome {
        let At { index, .. } = self.store.applied();
        let outcome = self.store.apply(At { index: index + 1, term: self.term }, command);
        if self.ends.is_empty() {
            self.store.recounted();
        }
        outcome
    }

    /// How the queue was in a revision, for the key of a lease.
    fn place(&self, lease: u64, at: u64) -> (Option<u64>, Option<u64>) {
        let key = claim_key(NAME, lease, Share::Exclusive);
        let found = self.store.range(&Range { revision: at, ..Range::of(Span::one(key)) }).ok();
        let own = found.and_then(|found| found.kvs.first().map(|kv| kv.create_revision));
        (own, own.and_then(|own| self.last_before(own, at)))
    }

    /// The lease of the last key that was in the queue then and was made before a revision.
    fn last_before(&self, revision: u64, at: u64) -> Option<u64> {
        let span = Span::prefix([NAME, b"/"].concat());
        let range = Range {
            limit: 1,
            revision: at,
            order: SortOrder::Descend,
            target: SortTarget::Create,
            max_create_revision: revision.checked_sub(1).filter(|most| *most > 0)?,
            ..Range::of(span)
        };
        let found = self.store.range(&range).ok()?;
        found.kvs.first().map(|kv| kv.lease)
    }

    /// Whether the key of a lease was deleted in a revision or later, 0 for from now on; a history
    /// that is forgotten may have had it.
    fn has_deleted(&self, lease: u64, from: u64) -> bool {
        let key = claim_key(NAME, lease, Share::Exclusive);
        let watch = Watch { span: Span::one(key), no_put: true, ..Watch::default() };
        let replay = self.store.replay(&watch, from, 1);
        replay.is_err() || replay.is_ok_and(|replay| !replay.events.is_empty())
    }
}

impl Leased {
    /// A leader begins: it counts from what was noted.
    pub(super) fn take_office(&mut self, fx: &mut impl Effects<Self>) {
        let Some(service) = &self.service else { return };
        fx.set_timer(Timer::Change, self.config.change);
        let leases: Vec<(u64, u64)> =
            service.store.leases().map(|(lease, value)| (lease, value.left)).collect();
        for (lease, left) in leases {
            let left = self.counted_from(left);
            let part = self.service.as_mut().and_then(|it| it.lessor.left(lease, left, PARTS));
            self.arm(lease, part, fx);
        }
    }

    /// Another of the service leads.
    pub(super) fn change_leader(&mut self, fx: &mut impl Effects<Self>) {
        let rounds = self.config.rounds;
        let Some(service) = &mut self.service else { return };
        let store = service.store.clone();
        let ends = core::mem::take(&mut service.ends);
        ends.into_keys().for_each(|lease| fx.cancel_timer(Timer::Commit(lease)));
        let mut next = Service::of(store, (service.term + 1) % rounds.max(1));
        next.store.recounted();
        next.former = true;
        // Each change may delay the end of a lease by one part.
        let begun = core::mem::take(&mut service.begun).into_iter();
        next.begun = begun.map(|(lease, parts)| (lease, parts.saturating_sub(1))).collect();
        self.service = Some(next);
        self.take_office(fx);
        fx.cancel_timer(Timer::Change);
    }

    /// An entry is committed, and what came of it is told.
    fn commit(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        let outcome = service.apply(command);
        for change in outcome.leases {
            let Some(service) = &mut self.service else { return };
            let lessor = &mut service.lessor;
            match change {
                LeaseChange::Left { lease, seconds } => {
                    let part = lessor.left(lease, seconds, PARTS);
                    if seconds == PARTS {
                        service.begun.remove(&lease);
                    }
                    self.arm(lease, part, fx);
                }
                LeaseChange::Ended { lease } => {
                    lessor.ended(lease);
                    service.begun.remove(&lease);
                    fx.cancel_timer(Timer::Part(lease));
                }
                LeaseChange::Spared { lease, term, renewed } => {
                    let part =
                        (term == service.term).then(|| lessor.spared(lease, renewed)).flatten();
                    if part.is_some() {
                        service.begun.remove(&lease);
                    }
                    self.arm(lease, part, fx);
                }
            }
        }
        let Some(service) = &mut self.service else { return };
        let gone = outcome.events.iter().filter(|event| event.kind == Kind::Delete);
        let gone: Vec<u64> =
            gone.filter_map(|event| event.prev.as_ref().map(|was| was.lease)).collect();
        let told: Vec<_> = service.watches.extract_if(.., |_, key| gone.contains(key)).collect();
        let revision = service.store.revision();
        for ((process, ticket), key) in told {
            self.tell(process, Message::Deleted { ticket, key, revision }, fx);
        }
    }

    /// The timer of a lease begins, where there is one to begin.
    fn arm(&mut self, lease: u64, part: Option<u64>, fx: &mut impl Effects<Self>) {
        let (Some(part), Some(service)) = (part, &mut self.service) else { return };
        *service.begun.entry(lease).or_default() += 1;
        fx.set_timer(Timer::Part(lease), self.config.parts(part));
    }

    pub(super) fn on_open(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let lease = lease_of(from, ticket);
        let known = self.service.as_ref().is_some_and(|it| it.store.lease(lease).is_some());
        if known {
            return self.on_renew(from, ticket, round, fx);
        }
        self.commit(Command::Grant { lease, ttl: PARTS }, fx);
        self.tell(from, Message::Alive { ticket, round }, fx);
    }

    pub(super) fn on_renew(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let (lease, minds) = (lease_of(from, ticket), self.minds_renewals());
        let asks = self.asks_a_majority();
        let Some(service) = &mut self.service else { return };
        if service.former && from != self.me && fx.choose(2) == 0 {
            // The one before is asked. Whom a majority does not confirm answers nothing, and knows.
            service.former = !asks;
            if !asks && service.store.lease(lease).is_some() {
                self.tell(from, Message::Alive { ticket, round }, fx);
            }
            return;
        }
        let mut unheeded = service.lessor.clone();
        let lessor = if minds { &mut service.lessor } else { &mut unheeded };
        match lessor.renew(lease) {
            Renewal::Waits => return,
            Renewal::Answered { .. } | Renewal::Noted { .. } if !minds => {}
            Renewal::Gone => return self.tell(from, Message::Gone { ticket }, fx),
            Renewal::Answered { part } => {
                service.begun.remove(&lease);
                self.arm(lease, Some(part), fx);
            }
            Renewal::Noted { all } => self.note(lease, all, fx),
        }
        self.tell(from, Message::Alive { ticket, round }, fx);
    }

    pub(super) fn on_look(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        at: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let lease = lease_of(from, ticket);
        let lives = self.service.as_ref().is_some_and(|it| it.store.lease(lease).is_some());
        if lives && at == 0 {
            let (name, value) = (NAME.into(), b"".into());
            let enqueue = Enqueue { name, lease, share: Share::Exclusive, value };
            self.commit(Command::Enqueue(enqueue), fx);
        }
        let minds = self.minds_its_session();
        let Some(service) = &self.service else { return };
        let revision = if at == 0 { service.store.revision() } else { at };
        let (mut own, mut ahead) = service.place(lease, revision);
        if !minds && own.is_none() {
            (own, ahead) = (Some(revision), service.last_before(revision + 1, revision));
        }
        self.tell(from, Message::Place { ticket, revision, own, ahead }, fx);
    }

    pub(super) fn on_watch(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        key: u64,
        revision: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(service) = &mut self.service else { return };
        if service.has_deleted(key, revision) {
            let revision = service.store.revision();
            return self.tell(from, Message::Deleted { ticket, key, revision }, fx);
        }
        service.watches.insert((from, ticket), key);
    }

    pub(super) fn on_release(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        was_inside: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let (lease, is_early) = (lease_of(from, ticket), self.lets_in_early());
        if let Some(service) = &mut self.service {
            service.watches.remove(&(from, ticket));
            if is_early {
                return self.release_early(lease, was_inside, fx);
            }
            service.ends.remove(&lease);
            fx.cancel_timer(Timer::Commit(lease));
        }
        self.commit(Command::Revoke { lease }, fx);
    }

    /// Whoever waits behind one who has left is let in, and then that is written.
    fn release_early(&mut self, lease: u64, was_inside: bool, fx: &mut impl Effects<Self>) {
        let leaves_nobody = self.leaves_nobody(was_inside);
        let Some(service) = &mut self.service else { return };
        if service.store.lease(lease).is_none() {
            return;
        }
        service.ends.insert(lease, None);
        fx.set_timer(Timer::Commit(lease), self.config.commit);
        let at = service.store.revision();
        let is_next = |(process, ticket): (ProcessId, Ticket)| {
            service.place(lease_of(process, ticket), at).1 == Some(lease)
        };
        let waiting = service.watches.iter().filter(|(_, key)| **key == lease).map(|(who, _)| *who);
        let next: Vec<_> = waiting.filter(|who| leaves_nobody && is_next(*who)).collect();
        for (process, ticket) in next {
            self.tell(process, Message::Released { ticket, key: lease }, fx);
        }
    }

    /// A part of a lease is over.
    ///
    /// A lease that outlives its bound is never ended: thus `starvation-freedom` judges that each
    /// change of leader delays the end of a lease by one part at most.
    pub(super) fn on_part(&mut self, lease: u64, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        fx.set_timer(Timer::Change, self.config.change);
        if service.begun.get(&lease).is_some_and(|parts| *parts > PARTS) {
            return;
        }
        let renewed = service.store.lease(lease).map_or(0, |lease| lease.renewed);
        match service.lessor.run_out(lease, renewed) {
            RunOut::Nothing => {}
            RunOut::Note { left, part } => {
                self.arm(lease, Some(part), fx);
                if self.notes_what_is_left() {
                    self.note(lease, left, fx);
                }
            }
            RunOut::End => {
                service.ends.insert(lease, Some(renewed));
                fx.set_timer(Timer::Commit(lease), self.config.commit);
            }
        }
    }

    /// An entry says what is left of a lease.
    fn note(&mut self, lease: u64, left: u64, fx: &mut impl Effects<Self>) {
        let Some(Service { store, term, .. }) = &self.service else { return };
        let renewed = store.lease(lease).map_or(0, |lease| lease.renewed);
        let leases = [Note { lease, left, renewed }].into();
        self.commit(Command::Checkpoint { term: *term, leases }, fx);
    }

    /// The end of a lease is written.
    pub(super) fn on_commit(&mut self, lease: u64, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        let Some(renewed) = service.ends.remove(&lease) else { return };
        let term = service.term;
        let end = match renewed {
            Some(renewed) => Command::Expire { term, leases: [Expiry { lease, renewed }].into() },
            None => Command::Revoke { lease },
        };
        self.commit(end, fx);
    }
}
