//! Votes of those who are up: D. Agrawal and A. El Abbadi, *An efficient and fault-tolerant
//! solution for distributed mutual exclusion*, TOCS 9(1), 1991, and any majorities.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::mutex::Majority;
use tenure_algorithms::mutex::majority::Config;
use tenure_core::quorum::Kind;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Fence, Order, Verdict};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn stage(kind: Kind, size: u32) -> Stage<Majority> {
    Stage::alike(size, Order::Fifo, Config::of(kind, size).unwrap())
}

/// A process crashes, and all the others get to know.
fn dies(stage: &mut Stage<Majority>, process: u32) {
    stage.crash(p(process));
    for peer in stage.live() {
        stage.suspicion(peer, p(process), Verdict::Suspect);
    }
    stage.drain(&mut Dice(0));
}

fn fences(stage: &mut Stage<Majority>) -> Vec<Fence> {
    let fence = |(_, seen)| match seen {
        Seen::Event(Event::Entered { fence }) => Some(fence),
        _ => None,
    };
    stage.take_seen().into_iter().filter_map(fence).collect()
}

#[test]
fn uncontended_an_entry_costs_three_messages_per_other_voter() {
    for (kind, size, messages) in [
        (Kind::Majority, 2, 3),
        (Kind::Majority, 3, 3),
        (Kind::Majority, 5, 6),
        (Kind::Majority, 6, 9),
        (Kind::Tree, 7, 6),
    ] {
        let mut stage = stage(kind, size);
        for at in 1..=size {
            assert_eq!(enter_and_exit(&mut stage, at), messages, "{kind:?} {size} P{at}");
        }
        let card = Majority::card(&Config::of(kind, size).unwrap(), size);
        assert_eq!(card.messages.least, messages);
    }
}

#[test]
fn under_contention_it_is_the_algorithm_of_maekawa() {
    for (kind, size) in [(Kind::Majority, 5), (Kind::Majority, 6), (Kind::Tree, 7)] {
        let config = Config::of(kind, size).unwrap();
        let cost = Majority::card(&config, size).messages;
        for seed in 0..200 {
            let plan = Plan::of(Order::Fifo, &vec![2; size as usize]).seeded(seed);
            let outcome = run::<Majority>(config.clone(), &plan).unwrap();
            let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
            assert!(range.contains(&outcome.messages), "{kind:?} {size} seed {seed}");
        }
    }
}

/// 3.6 (iii): ⌊(N − 1)/2⌋, and no more.
#[test]
fn any_minority_may_crash_and_nobody_enters_without_a_majority() {
    for size in 3..=7 {
        for first in 0..size {
            let mut stage = stage(Kind::Majority, size);
            let nth = |step| (first + step) % size + 1;
            let most = (size - 1) / 2;
            (0..most).for_each(|step| dies(&mut stage, nth(step)));
            for live in most..size {
                enter_and_exit(&mut stage, nth(live));
            }
            dies(&mut stage, nth(most));
            stage.command(p(nth(size - 1)), Command::Enter);
            stage.drain(&mut Dice(0));
            assert_eq!(entered(&mut stage), NOBODY, "{} of {size} are down", most + 1);
        }
    }
}

/// 3.7: a failed node is replaced by the paths in both subtrees.
#[test]
fn in_a_tree_the_root_and_its_children_are_replaced_by_the_leaves() {
    let mut stage = stage(Kind::Tree, 7);
    assert_eq!(enter_and_exit(&mut stage, 4), 6, "P1, P2 and P4 itself");
    dies(&mut stage, 1);
    assert_eq!(enter_and_exit(&mut stage, 4), 9, "P2 and P4, P3 and one below it");
    dies(&mut stage, 2);
    dies(&mut stage, 3);
    assert_eq!(enter_and_exit(&mut stage, 4), 9, "all four leaves");
    dies(&mut stage, 7);
    stage.command(p(4), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
}

#[test]
fn whoever_waits_for_a_voter_that_dies_asks_another() {
    let mut stage = stage(Kind::Majority, 3);
    stage.command(p(1), Command::Enter);
    stage.crash(p(2));
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1], "by the vote of P3");
}

#[test]
fn the_votes_of_whoever_dies_inside_are_given_to_others_with_a_higher_fence() {
    let mut stage = stage(Kind::Majority, 5);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    (2..=5).for_each(|at| stage.command(p(at), Command::Enter));
    stage.drain(&mut Dice(0));
    let mut all = fences(&mut stage);
    dies(&mut stage, 1);
    all.extend(fences(&mut stage));
    assert_eq!(all, [Fence(0, 1), Fence(1, 1)], "P1 took its count with it");
}

#[test]
fn a_request_of_the_dead_that_arrives_late_gets_no_vote() {
    let mut stage = stage(Kind::Majority, 3);
    stage.command(p(1), Command::Enter);
    stage.crash(p(1));
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.sent_of("locked"), 0);
    enter_and_exit(&mut stage, 2);
}

/// What no lock can prevent, the fence tells apart.
#[test]
fn after_a_suspicion_in_vain_two_are_inside_and_the_later_has_the_higher_fence() {
    let mut stage = stage(Kind::Majority, 3);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(0, 1)]);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(1, 1)]);
}

#[test]
fn whoever_was_suspected_in_vain_asks_again_when_it_is_trusted() {
    let mut stage = stage(Kind::Majority, 2);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY, "P2 does not vote for P1");
    stage.suspicion(p(2), p(1), Verdict::Trust);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn it_takes_majorities_unless_something_else_than_the_usual_grid_is_asked_for() {
    let least = |quorums, size| {
        let parameters = Parameters { quorums, ..Parameters::plain(size) };
        catalogue::card("majority", &parameters).unwrap().messages.least
    };
    assert_eq!(least(Parameters::plain(15).quorums, 15), 3 * 7);
    assert_eq!(least(Kind::Majority, 15), 3 * 7);
    assert_eq!(least(Kind::Tree, 15), 3 * 3);
    assert_eq!(least(Kind::Plane, 13), 3 * 3);
}
