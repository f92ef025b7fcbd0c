//! Elections that are started at once or one by one, in random order, and what they came to.

use std::sync::Arc;

use tenure_core::monitors::Agreement;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Election, Monitor, Order, ProcessId, Rank};

use tenure_trace::{Dice, Seen, Stage};

/// The last leader that each process was told of.
pub(crate) type Beliefs = Vec<Option<ProcessId>>;

/// All processes of a group.
pub(crate) fn everybody(size: u32) -> Vec<ProcessId> {
    (0..size).map(ProcessId).collect()
}

/// Starts an election at `initiators` before anything is delivered, then delivers in random
/// order until nothing is under way; `duplicates` messages arrive twice.
pub(crate) fn elect<P: Election>(
    size: u32,
    order: Order,
    config: P::Config,
    initiators: &[ProcessId],
    duplicates: u32,
    seed: u64,
) -> (Stage<P>, Beliefs) {
    let mut stage = Stage::<P>::alike(size, order, config);
    for at in initiators {
        stage.command(*at, Command::Elect);
    }
    let mut dice = Dice(seed);
    let mut left = duplicates;
    while let Some(link) = dice.pick(&stage.busy_links()) {
        if left > 0 && dice.one_in(3) {
            left -= 1;
            stage.duplicate(*link);
        }
        stage.deliver(*link, &mut dice);
    }
    let beliefs = beliefs(&mut stage);
    (stage, beliefs)
}

/// Takes what was seen, and says whom each process believes in; they must agree.
pub(crate) fn beliefs<P: Election>(stage: &mut Stage<P>) -> Beliefs {
    let seen = stage.take_seen();
    let mut agreement = Agreement::new();
    for (at, seen) in &seen {
        agreement.observe(*at, seen.observed()).expect("agreement holds");
    }
    agreement.at_end().expect("agreement holds in the end");
    told(stage.size(), seen)
}

/// The same where they need not agree.
pub(crate) fn opinions<P: Election>(stage: &mut Stage<P>) -> Beliefs {
    let seen = stage.take_seen();
    told(stage.size(), seen)
}

fn told<P: Election>(size: u32, seen: Vec<(ProcessId, Seen<P>)>) -> Beliefs {
    let mut beliefs = vec![None; size as usize];
    for (at, seen) in seen {
        match seen {
            Seen::Event(Event::Elected { leader, .. }) => beliefs[at.index()] = Some(leader),
            Seen::Event(Event::Deposed { .. }) => beliefs[at.index()] = None,
            Seen::Command(_) | Seen::Crashed | Seen::Recovered => {}
        }
    }
    beliefs
}

/// Every choice of processes that is not empty.
pub(crate) fn choices(size: u32) -> impl Iterator<Item = Vec<ProcessId>> {
    (1..1_u32 << size).map(move |chosen| {
        everybody(size).into_iter().filter(|at| chosen & (1 << at.0) != 0).collect()
    })
}

/// Where an id stands on a ring.
pub(crate) fn place_of(id: u32, ids: &[u32]) -> Option<ProcessId> {
    ids.iter().position(|other| *other == id).map(ProcessId::at)
}

/// Plain ids as ranks, in this order.
pub(crate) fn ranks(ids: &[u32]) -> Arc<[Rank]> {
    ids.iter().map(|id| Rank::of_id(*id)).collect()
}
