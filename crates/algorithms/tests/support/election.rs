//! Elections that are started at once or one by one, in random order, and what they came to.

use tenure_core::monitors::Agreement;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Election, Monitor, Observed, Order, ProcessId};

use super::{Dice, Seen, World};

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
) -> (World<P>, Beliefs) {
    let mut world = World::<P>::new(size, order, config);
    for at in initiators {
        world.command(*at, Command::Elect);
    }
    let mut dice = Dice(seed);
    let mut left = duplicates;
    while let Some(link) = dice.pick(&world.busy_links()) {
        if left > 0 && dice.one_in(3) {
            left -= 1;
            world.duplicate(*link);
        }
        world.deliver(*link, &mut dice);
    }
    let beliefs = beliefs(&mut world);
    (world, beliefs)
}

/// Takes what was seen, and says whom each process believes in.
pub(crate) fn beliefs<P: Election>(world: &mut World<P>) -> Beliefs {
    let mut beliefs = vec![None; world.size as usize];
    let mut agreement = Agreement::new();
    for (at, seen) in world.take_seen() {
        let observed = match &seen {
            Seen::Command(command) => Observed::Command { command, clock: None },
            Seen::Event(event) => {
                match event {
                    Event::Elected { leader, .. } => beliefs[at.index()] = Some(*leader),
                    Event::Deposed { .. } => beliefs[at.index()] = None,
                }
                Observed::Event(event)
            }
            Seen::Crashed => Observed::Crashed,
            Seen::Recovered => Observed::Recovered,
        };
        agreement.observe(at, observed).expect("agreement holds");
    }
    agreement.at_end().expect("agreement holds in the end");
    beliefs
}
