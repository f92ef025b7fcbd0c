//! All hear of all in ⌈log₂ N⌉ steps.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::DisseminationBarrier;
use tenure_algorithms::agreement::dissemination_barrier::{Message, Switch};
use tenure_core::monitors::AllArrive;
use tenure_core::service::barrier::{Command, Event};
use tenure_core::{Monitor, Order};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn stage(size: u32) -> Stage<DisseminationBarrier> {
    Stage::alike(size, Order::Reordered, Variants::none())
}

/// Who left, and in which round.
fn left(stage: &mut Stage<DisseminationBarrier>) -> Vec<(u32, u64)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Left { round }) => Some((at.number(), round)),
        _ => None,
    });
    seen.collect()
}

/// Everybody arrives `rounds` times, in random order; a message in `one_in` arrives twice. What
/// was violated, if anything, and whether all have left in the end.
fn run(
    size: u32,
    variants: Variants<Switch>,
    rounds: u32,
    one_in: usize,
    seed: u64,
) -> Result<bool, String> {
    let mut stage = Stage::<DisseminationBarrier>::alike(size, Order::Reordered, variants);
    let mut monitor = AllArrive::new(size);
    let mut dice = Dice(seed);
    let mut open: Vec<u32> = vec![rounds; size as usize];
    let mut waits = vec![false; size as usize];
    loop {
        for (at, seen) in stage.take_seen() {
            waits[at.index()] = matches!(seen, Seen::Command(_));
            monitor.observe(at, seen.observed()).map_err(|violation| violation.says)?;
        }
        let able = |at: &usize| open[*at] > 0 && !waits[*at];
        let able: Vec<usize> = (0..size as usize).filter(able).collect();
        let links = stage.busy_links();
        if able.is_empty() && links.is_empty() {
            return Ok(open.iter().all(|open| *open == 0) && waits.iter().all(|waits| !waits));
        }
        let choice = dice.below(able.len() + links.len());
        match able.get(choice) {
            Some(at) => {
                open[*at] -= 1;
                stage.command(tenure_core::ProcessId::at(*at), Command::Arrive);
            }
            None => {
                let link = links[choice - able.len()];
                if one_in > 0 && dice.one_in(one_in) {
                    stage.duplicate(link);
                }
                stage.deliver(link, &mut dice);
            }
        }
    }
}

#[test]
fn a_round_takes_n_log_n_messages_whatever_n() {
    for (size, steps) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)] {
        let mut stage = stage(size);
        for at in 1..=size {
            assert_eq!(left(&mut stage), [], "P{at} has not arrived");
            stage.command(p(at), Command::Arrive);
            stage.drain(&mut Dice(u64::from(at)));
        }
        assert_eq!(left(&mut stage).len(), size as usize);
        assert_eq!(stage.total_sent(), u64::from(size * steps), "{size} processes");
    }
}

#[test]
fn after_the_last_has_arrived_it_takes_as_many_delays_as_there_are_steps() {
    let mut stage = stage(8);
    for at in 1..=7 {
        stage.command(p(at), Command::Arrive);
    }
    stage.drain(&mut Dice(0));
    assert_eq!(left(&mut stage), []);
    stage.command(p(8), Command::Arrive);
    assert_eq!(left(&mut stage), [(8, 1)], "all others have told it already");
    let mut gone = 1;
    for delay in 1..=3 {
        assert!(gone < 8, "before delay {delay}");
        // What is under way now arrives together.
        let now: Vec<_> = stage.under_way().map(|(from, to, _)| (from, to)).collect();
        now.into_iter().for_each(|link| stage.pass(link, 0));
        gone += left(&mut stage).len();
    }
    assert_eq!(gone, 8);
    assert_eq!(stage.busy_links(), []);
}

#[test]
fn nobody_signals_in_a_step_before_it_was_signalled_in_the_one_before() {
    let mut stage = stage(4);
    stage.command(p(1), Command::Arrive);
    let signal = |step| Message::Signal { round: 1, step };
    assert_eq!(stage.queue((p(1), p(2))), [&signal(0)]);
    assert_eq!(stage.total_sent(), 1);
    stage.command(p(4), Command::Arrive);
    stage.pass((p(4), p(1)), 0);
    assert_eq!(stage.queue((p(1), p(3))), [&signal(1)]);
}

/// P1 has left and is back while P2 still waits for a signal of the first round.
#[test]
fn a_signal_of_the_next_round_waits_for_it() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Arrive);
    stage.command(p(2), Command::Arrive);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(left(&mut stage), [(1, 1)]);
    stage.command(p(1), Command::Arrive);
    // The second signal overtakes the first.
    stage.pass((p(1), p(2)), 1);
    assert_eq!(left(&mut stage), []);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(left(&mut stage), [(2, 1)]);
    stage.command(p(2), Command::Arrive);
    assert_eq!(left(&mut stage), [(2, 2)], "it was signalled before it arrived");
    stage.drain(&mut Dice(0));
    assert_eq!(left(&mut stage), [(1, 2)]);
}

#[test]
fn any_order_and_any_duplicates_keep_everybody_in_step() {
    for seed in 0..300 {
        let size = 1 + seed as u32 % 9;
        let [few, many] = [0, 3].map(|one_in| run(size, Variants::none(), 4, one_in, seed));
        assert_eq!([few, many], [Ok(true), Ok(true)], "seed {seed}");
    }
}

#[test]
fn each_mistake_lets_somebody_leave_too_early() {
    for (switch, size, one_in) in
        [(Switch::LeavesEarly, 2, 0), (Switch::AllAtOnce, 4, 0), (Switch::NoRounds, 2, 3)]
    {
        let variants = Variants::none().with(switch);
        let found = (0..300).find_map(|seed| run(size, variants, 2, one_in, seed).err());
        let says = found.unwrap_or_default();
        assert!(says.contains("has not arrived"), "{switch:?}: {says}");
    }
}
