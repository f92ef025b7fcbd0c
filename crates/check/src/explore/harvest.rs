//! What one thread finds in one chunk of a level.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::frontier::Batch;
use crate::explore::successors::{Cut, Seed, TIME, Worker};
use crate::explore::visited::{SHARDS, StateId, shard_of};
use crate::world::action::{Action, Cause, Kind};

/// A successor that may be new.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) key: u64,
    /// The place of its parent in the block.
    pub(super) parent: u32,
    pub(super) action: Action,
    pub(super) label: u32,
}

/// The step that violated a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violated {
    pub(crate) from: StateId,
    pub(crate) action: Action,
    /// How many steps it takes, this one included.
    pub(crate) length: u32,
}

/// A handler that panicked.
#[derive(Clone, Debug)]
pub(crate) struct Panicked {
    /// The world in which it was run.
    pub(crate) from: StateId,
    /// The process and what it was given, where a handler is to blame.
    pub(crate) ran: Option<(u32, Cause)>,
    /// What it said.
    pub(crate) says: String,
}

/// What one thread found in one chunk.
pub(super) struct Harvest {
    /// The worlds of the chunk.
    pub(super) parents: Batch,
    pub(super) candidates: Vec<Vec<Candidate>>,
    /// In exact mode, the candidates' worlds.
    pub(super) worlds: Vec<Vec<u32>>,
    /// Steps to beyond a bound: parent and label.
    pub(super) outside: Vec<(u32, u32)>,
    pub(super) transitions: u64,
    pub(super) violations: Vec<(u32, Violated)>,
    pub(super) cuts: [bool; 2],
    /// Why the rest of the chunk was left.
    pub(super) panicked: Option<Panicked>,
}

impl Harvest {
    pub(super) fn new() -> Self {
        Harvest {
            parents: Batch::default(),
            candidates: vec![Vec::new(); SHARDS],
            worlds: vec![Vec::new(); SHARDS],
            outside: Vec::new(),
            transitions: 0,
            violations: Vec::new(),
            cuts: [false; 2],
            panicked: None,
        }
    }

    /// The same, empty, with its memory kept.
    pub(super) fn cleared(mut self) -> Self {
        self.parents.clear();
        self.candidates.iter_mut().for_each(Vec::clear);
        self.worlds.iter_mut().for_each(Vec::clear);
        self.outside.clear();
        self.violations.clear();
        Harvest { transitions: 0, cuts: [false; 2], panicked: None, ..self }
    }

    pub(super) fn bytes(&self) -> usize {
        let candidates: usize = self.candidates.iter().map(Vec::capacity).sum();
        let worlds: usize = self.worlds.iter().map(Vec::capacity).sum();
        self.parents.bytes() + candidates * size_of::<Candidate>() + worlds * 4
    }

    /// Takes in every successor of one world; not if a handler panics, which ends the search.
    pub(super) fn reap_safely(
        &mut self,
        worker: &mut Worker,
        seed: Seed<'_>,
        from: StateId,
        parent: u32,
        modes: (bool, bool),
    ) {
        worker.memory.ran_last = None;
        // What a panic leaves half done is never looked at again: the search ends.
        let reaped = catch_unwind(AssertUnwindSafe(|| {
            self.reap(worker, seed, from, parent, modes);
        }));
        if let Err(payload) = reaped {
            let says = words(payload.as_ref());
            self.panicked = Some(Panicked { from, ran: worker.memory.ran_last, says });
        }
    }

    /// Takes in every successor of one world.
    fn reap(
        &mut self,
        worker: &mut Worker,
        seed: Seed<'_>,
        from: StateId,
        parent: u32,
        (exact, time): (bool, bool),
    ) {
        if time {
            let mut world = seed.world.to_vec();
            if let Some(fate) = worker.tick(&mut world, seed.fingerprint) {
                let action = Action::new(Kind::Tick, 0, 0, 0);
                self.transitions += 1;
                self.add(Candidate { key: fate.key, parent, action, label: TIME });
                if exact {
                    self.worlds[shard_of(fate.key)].extend(world);
                }
            }
            return;
        }
        worker.successors(seed, &mut |successor| {
            self.transitions += 1;
            let (fate, action, label) = (successor.fate, successor.action, successor.label);
            if fate.violated != 0 {
                let places = (0..u32::BITS).filter(|place| fate.violated & 1 << place != 0);
                let violated = Violated { from, action, length: 0 };
                self.violations.extend(places.map(|place| (place, violated)));
            }
            if let Some(cut) = fate.cut {
                self.cuts[usize::from(cut == Cut::Term)] = true;
                self.outside.push((parent, label));
                return;
            }
            self.cuts[0] |= fate.dropped;
            self.add(Candidate { key: fate.key, parent, action, label });
            if exact {
                self.worlds[shard_of(fate.key)].extend_from_slice(successor.world);
            }
        });
        self.cuts[0] |= std::mem::take(&mut worker.left_out);
    }

    fn add(&mut self, candidate: Candidate) {
        self.candidates[shard_of(candidate.key)].push(candidate);
    }
}

/// What a panic says.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}
