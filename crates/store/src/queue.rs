//! The queues of locks and offices: who is inside, and whom it admits when somebody leaves.
//!
//! The queue of a name is all keys below it (`name/…`) in the order in which they were created.
//! Clients of etcd look at it that way themselves, so a key that claims nothing has its place as
//! well, and so has a claim on a name below this one. A queue is kept only for a name on which
//! there is a claim.
//!
//! Who is inside is the head of the queue: the first, and those behind it that share with it, none
//! of whom ever goes before another. As new keys come at the end, whoever is inside stays there.

use core::ops::Bound::{Excluded, Unbounded};

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::claim::{Claim, Share, claim_of, form_of};
use crate::kv::{Event, KeyValue, Kind};
use crate::prefixes::prefixes;
use crate::span::Span;

/// All queues, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Queues(BTreeMap<Bytes, Queue>);

/// The queue of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue {
    /// By their creation. Keys of one revision are told apart by their names, in that order.
    members: BTreeMap<(u64, Bytes), Member>,
    /// How many of them claim the name.
    claims: usize,
    /// How many of the head are inside.
    inside: u64,
    /// The last of them.
    last_inside: Option<(u64, Bytes)>,
}

/// A key in a queue. How it shares is in its name, and does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    /// With which it ends if it claims the name of this queue; 0 if it does not.
    lease: u64,
    share: Share,
}

/// What a command does to queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) admitted: Vec<Claim>,
    pub(crate) ended: Vec<Claim>,
    /// The names of queues in which something changed.
    touched: Vec<Bytes>,
}

impl Queues {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Queue> {
        self.0.get(name)
    }

    /// How many queues there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Queue)> {
        self.0.iter()
    }

    /// Takes a change of a key. `below` has the keys that begin with a name and a slash, as they
    /// are after the change.
    pub(crate) fn note<'a, I: Iterator<Item = &'a Arc<KeyValue>>>(
        &mut self,
        Event { kind, kv, prev }: &Event,
        below: impl Fn(&Span) -> I,
        moves: &mut Moves,
    ) {
        if let (Kind::Put, Some(claim)) = (kind, claim_of(kv))
            && !self.0.contains_key(&claim.name)
        {
            let mut queue = Queue::default();
            let span = Span::prefix([&claim.name[..], b"/"].concat());
            below(&span).for_each(|kv| queue.put(&claim.name, kv, moves));
            moves.touched.push(claim.name.clone());
            self.0.insert(claim.name, queue);
        }
        let above = prefixes(&self.0, &kv.key).map(|(name, _)| name);
        let above = above.filter(|name| kv.key.get(name.len()) == Some(&b'/'));
        for name in above.cloned().collect::<Vec<_>>() {
            let Some(queue) = self.0.get_mut(&name) else { continue };
            match (kind, prev) {
                (Kind::Put, _) => queue.put(&name, kv, moves),
                (Kind::Delete, Some(was)) => queue.delete(&name, was, moves),
                (Kind::Delete, None) => {}
            }
            moves.touched.push(name);
        }
    }

    /// Lets in whoever may be by now, in the queues where something changed.
    pub(crate) fn settle(&mut self, moves: &mut Moves) {
        let mut touched = core::mem::take(&mut moves.touched);
        touched.sort_unstable();
        touched.dedup();
        for name in touched {
            let Some(queue) = self.0.get_mut(&name) else { continue };
            queue.admit(&name, moves);
            if queue.claims == 0 {
                self.0.remove(&name);
            }
        }
    }
}

impl Queue {
    /// Who claims, in the order of the queue, and whether they are inside.
    pub fn claims<'a>(&'a self, name: &'a Bytes) -> impl Iterator<Item = (Claim, bool)> + 'a {
        let claims = self.members.iter().filter(|(_, member)| member.lease != 0);
        claims.map(|(place, member)| (claim(name, place, *member), self.is_inside(place)))
    }

    /// How many keys are in it, whether or not they claim the name.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nobody is in it, which is so of no queue that there is.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its keys in the order of their creation, of revisions up to `most`, or the other way round.
    pub(crate) fn keys(&self, most: u64) -> impl DoubleEndedIterator<Item = &Bytes> {
        let end = match most.checked_add(1).filter(|_| most > 0) {
            Some(end) => Excluded((end, Bytes::default())),
            None => Unbounded,
        };
        self.members.range((Unbounded, end)).map(|((_, key), _)| key)
    }

    /// Whether a key is inside.
    pub(crate) fn has_inside(&self, kv: &KeyValue) -> bool {
        self.is_inside(&(kv.create_revision, kv.key.clone()))
    }

    fn is_inside(&self, place: &(u64, Bytes)) -> bool {
        self.last_inside.as_ref().is_some_and(|last| place <= last)
    }

    /// A key is written: it takes its place, or keeps it.
    fn put(&mut self, name: &Bytes, kv: &KeyValue, moves: &mut Moves) {
        let place = (kv.create_revision, kv.key.clone());
        let form = form_of(&kv.key).filter(|form| form.name == &name[..]);
        let own = form.as_ref().filter(|form| form.lease == kv.lease);
        let share = form.as_ref().map_or(Share::Exclusive, |form| form.share);
        let member = Member { lease: own.map_or(0, |own| own.lease), share };
        let before = self.members.insert(place.clone(), member);
        if before == Some(member) {
            return;
        }
        if let Some(was) = before.filter(|before| before.lease != 0) {
            self.claims -= 1;
            moves.ended.push(claim(name, &place, was));
        }
        if member.lease != 0 {
            self.claims += 1;
            if self.is_inside(&place) {
                moves.admitted.push(claim(name, &place, member));
            }
        }
    }

    /// A key is deleted: it gives up its place.
    fn delete(&mut self, name: &Bytes, was: &KeyValue, moves: &mut Moves) {
        let place = (was.create_revision, was.key.clone());
        let Some(member) = self.members.remove(&place) else { return };
        if self.is_inside(&place) {
            self.inside -= 1;
            if self.last_inside.as_ref() == Some(&place) {
                let before = self.members.range(..place.clone()).next_back();
                self.last_inside = before.map(|(place, _)| place.clone());
            }
        }
        if member.lease != 0 {
            self.claims -= 1;
            moves.ended.push(claim(name, &place, member));
        }
    }

    /// Lets in whoever may join those who are inside, the first of the others first.
    fn admit(&mut self, name: &Bytes, moves: &mut Moves) {
        loop {
            let after = match &self.last_inside {
                Some(last) => Excluded(last.clone()),
                None => Unbounded,
            };
            let kind = self.members.values().next().filter(|_| self.inside > 0);
            let kind = kind.map(|member| member.share);
            let Some((place, member)) = self.members.range((after, Unbounded)).next() else {
                return;
            };
            if !member.share.may_join(self.inside, kind) {
                return;
            }
            if member.lease != 0 {
                moves.admitted.push(claim(name, place, *member));
            }
            self.last_inside = Some(place.clone());
            self.inside += 1;
        }
    }
}

/// The claim at a place.
fn claim(name: &Bytes, place: &(u64, Bytes), member: Member) -> Claim {
    let (fence, key) = place.clone();
    Claim { name: name.clone(), key, lease: member.lease, share: member.share, fence }
}
