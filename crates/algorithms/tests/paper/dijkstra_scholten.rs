//! Work makes a tree, and the tree shrinks when the work is done.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::DijkstraScholten;
use tenure_algorithms::agreement::dijkstra_scholten::{Config, Done, Message, Switch};
use tenure_core::monitors::Quiescence;
use tenure_core::service::termination::{Command, Event};
use tenure_core::{Monitor, Order, ProcessId};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

const NOBODY: [u32; 0] = [];

/// A group in which work makes so many more, by where it is done.
fn stage(size: u32, shares: impl Into<Vec<u32>>) -> Stage<DijkstraScholten> {
    let config = Config { shares: shares.into(), ..Config::default() };
    Stage::alike(size, Order::Reordered, config)
}

fn works(stage: &mut Stage<DijkstraScholten>, at: u32, of: u32) {
    stage.fire(p(at), Done { of: p(of) });
}

/// Who was told that its computation has ended.
fn ended(stage: &mut Stage<DijkstraScholten>) -> Vec<u32> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Terminated) => Some(at.number()),
        _ => None,
    });
    seen.collect()
}

/// The first `roots` begin a computation each, and things happen in random order to the end. What
/// was violated, if anything, and how many computations were told to have ended.
fn run(size: u32, config: Config, roots: u32, seed: u64) -> Result<u32, String> {
    let mut stage = Stage::<DijkstraScholten>::alike(size, Order::Reordered, config);
    for root in 1..=roots {
        stage.command(p(root), Command::Compute { generations: 4 });
    }
    let (mut monitor, mut dice, mut ended) = (Quiescence::new(), Dice(seed), 0);
    loop {
        for (at, seen) in stage.take_seen() {
            monitor.observe(at, seen.observed()).map_err(|violation| violation.says)?;
            ended += u32::from(matches!(seen, Seen::Event(Event::Terminated)));
        }
        let (links, timers) = (stage.busy_links(), stage.armed_timers());
        if links.is_empty() && timers.is_empty() {
            let idle = |at: ProcessId| {
                let engaged = |of| stage.process(at).is_some_and(|it| it.is_engaged(p(of)));
                !(1..=roots).any(engaged)
            };
            assert!(stage.everybody().into_iter().all(idle), "seed {seed}: somebody is engaged");
            let sent = ["work", "signal"].map(|kind| stage.sent_of(kind));
            assert_eq!(sent[0], sent[1], "seed {seed}: every message is answered once");
            return Ok(ended);
        }
        let choice = dice.below(links.len() + timers.len());
        match links.get(choice) {
            Some(link) => stage.deliver(*link, &mut dice),
            None => {
                let (at, timer) = timers[choice - links.len()];
                stage.fire(at, timer);
            }
        }
    }
}

#[test]
fn who_makes_no_work_for_others_knows_at_once_that_all_is_done() {
    let mut stage = stage(3, [0, 0, 0]);
    stage.command(p(2), Command::Compute { generations: 2 });
    assert_eq!(ended(&mut stage), NOBODY);
    works(&mut stage, 2, 2);
    assert_eq!(ended(&mut stage), [2]);
    assert_eq!(stage.total_sent(), 0);
}

#[test]
fn a_process_answers_the_one_who_engaged_it_last_and_others_at_once() {
    // P1 gives to P2 and P3; P2 gives to P3, which works already.
    let mut stage = stage(3, [2, 1, 0]);
    stage.command(p(1), Command::Compute { generations: 2 });
    works(&mut stage, 1, 1);
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(1), p(2)), 0);
    works(&mut stage, 2, 1);
    let signal = Message::Signal { of: p(1) };
    assert_eq!(stage.queue((p(2), p(1))).len(), 0, "P3 has not answered P2");
    stage.pass((p(2), p(3)), 0);
    assert_eq!(stage.queue((p(3), p(2))), [&signal]);
    stage.pass((p(3), p(2)), 0);
    assert_eq!(stage.queue((p(2), p(1))), [&signal]);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(ended(&mut stage), NOBODY, "P3 works");
    works(&mut stage, 3, 1);
    assert!(stage.queue((p(3), p(1))).is_empty(), "it has another piece");
    works(&mut stage, 3, 1);
    stage.pass((p(3), p(1)), 0);
    assert_eq!(ended(&mut stage), [1]);
}

#[test]
fn who_has_left_the_tree_may_come_back_to_it_elsewhere() {
    // P2 is done; then P3, which P1 engaged too, gives to P1, and P1 to P2.
    let mut stage = stage(3, [2, 0, 1]);
    stage.command(p(1), Command::Compute { generations: 3 });
    works(&mut stage, 1, 1);
    stage.pass((p(1), p(2)), 0);
    works(&mut stage, 2, 1);
    stage.pass((p(1), p(3)), 0);
    works(&mut stage, 3, 1);
    stage.pass((p(3), p(1)), 0);
    works(&mut stage, 1, 1);
    let engaged =
        |stage: &Stage<DijkstraScholten>| stage.process(p(2)).is_some_and(|it| it.is_engaged(p(1)));
    assert!(!engaged(&stage));
    stage.pass((p(1), p(2)), 0);
    assert!(engaged(&stage));
    stage.settle();
    assert_eq!(ended(&mut stage), [1]);
}

#[test]
fn whoever_begins_learns_of_its_end_and_each_message_is_answered_once() {
    for seed in 0..500 {
        let size = 1 + seed as u32 % 6;
        let roots = 1 + seed as u32 % size;
        assert_eq!(run(size, Config::default(), roots, seed), Ok(roots), "seed {seed}");
    }
}

#[test]
fn an_answer_that_comes_too_early_and_answers_that_are_not_counted_are_caught() {
    for switch in [Switch::EarlySignal, Switch::OneForAll] {
        let config = Config { variants: Variants::none().with(switch), ..Config::default() };
        let found = (0..500).find_map(|seed| run(3, config.clone(), 1, seed).err());
        assert!(found.is_some_and(|says| says.contains("left")), "{switch:?}");
    }
}
