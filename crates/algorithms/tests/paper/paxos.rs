//! A majority promises, and then a majority accepts.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::Paxos;
use tenure_algorithms::agreement::paxos::Switch;
use tenure_core::{Algorithm, Order, Verdict};
use tenure_trace::{Dice, Stage};

use crate::support::consensus::{decided, propose};
use crate::support::p;

fn stage(size: u32) -> Stage<Paxos> {
    Stage::alike(size, Order::Reordered, Variants::none())
}

#[test]
fn where_one_leads_a_decision_costs_five_messages_for_each_other() {
    for size in 1..=7 {
        let mut stage = stage(size);
        (1..=size).for_each(|at| propose(&mut stage, at));
        stage.settle();
        let all: Vec<(u32, u64)> = (1..=size).map(|at| (at, 1)).collect();
        assert_eq!(decided(&mut stage), all);
        let cost = Paxos::card(&Variants::none(), size).messages;
        assert_eq!(stage.total_sent(), cost.least, "{size}");
        assert_eq!(cost.least, 5 * u64::from(size - 1));
    }
}

#[test]
fn what_a_majority_has_accepted_every_later_ballot_asks_for() {
    let mut stage = stage(3);
    (1..=3).for_each(|at| propose(&mut stage, at));
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    // P2 accepts, and P1 never hears of it.
    stage.pass((p(1), p(2)), 0);
    stage.crash(p(1));
    stage.suspicion(p(3), p(1), Verdict::Suspect);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.settle();
    assert_eq!(decided(&mut stage), [(2, 1), (3, 1)]);
}

#[test]
fn an_old_ballot_is_refused_by_whoever_promised_a_newer_one() {
    let mut stage = stage(3);
    propose(&mut stage, 1);
    propose(&mut stage, 2);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    // P2's ballot comes to P3 first.
    stage.pass((p(2), p(3)), 0);
    stage.pass((p(1), p(3)), 0);
    let refused = stage.queue((p(3), p(1))).iter().any(|it| format!("{it:?}").contains("Refused"));
    assert!(refused);
    stage.settle();
    let decided = decided(&mut stage);
    assert_eq!(decided.len(), 3);
    assert!(decided.iter().all(|(_, value)| *value == decided[0].1), "{decided:?}");
}

#[test]
fn without_a_majority_nobody_decides_and_with_one_again_all_do() {
    let mut stage = stage(3);
    stage.crash(p(2));
    stage.crash(p(3));
    propose(&mut stage, 1);
    stage.settle();
    assert_eq!(decided(&mut stage), []);
    stage.recover(p(3));
    stage.settle();
    assert_eq!(decided(&mut stage), [(1, 1), (3, 1)]);
    stage.recover(p(2));
    stage.settle();
    assert_eq!(decided(&mut stage), [(2, 1)]);
}

#[test]
fn who_comes_back_knows_what_it_promised_and_is_told_what_is_decided_once_in_each_life() {
    let mut stage = stage(3);
    (1..=3).for_each(|at| propose(&mut stage, at));
    stage.settle();
    assert_eq!(decided(&mut stage), [(1, 1), (2, 1), (3, 1)]);
    let before = stage.process(p(2)).unwrap().highest_term();
    stage.crash(p(2));
    stage.recover(p(2));
    stage.settle();
    assert_eq!(stage.process(p(2)).unwrap().highest_term(), before);
    assert_eq!(decided(&mut stage), [(2, 1)]);
}

/// Anybody is suspected at any moment and trusted again, messages are late, doubled and lost.
fn hurt(size: u32, variants: Variants<Switch>, seed: u64) -> Vec<(u32, u64)> {
    let mut stage: Stage<Paxos> = Stage::alike(size, Order::Reordered, variants);
    let mut dice = Dice(seed);
    (1..=size).for_each(|at| propose(&mut stage, at));
    let mut decisions = Vec::new();
    for _ in 0..120 {
        let links = stage.busy_links();
        let [at, peer] = [1, 2].map(|_| p(dice.below(size as usize) as u32 + 1));
        match dice.below(12) {
            0 if at != peer => stage.suspicion(at, peer, Verdict::Suspect),
            1 if at != peer => stage.suspicion(at, peer, Verdict::Trust),
            2 if !links.is_empty() => stage.lose(links[dice.below(links.len())]),
            3 if !links.is_empty() => stage.duplicate(links[dice.below(links.len())]),
            4 => {
                stage.crash(at);
                stage.recover(at);
            }
            _ if !links.is_empty() => {
                let link = links[dice.below(links.len())];
                stage.deliver(link, &mut dice);
            }
            _ => {}
        }
        decisions.extend(decided(&mut stage));
    }
    decisions
}

fn differ(decisions: &[(u32, u64)]) -> bool {
    decisions.iter().any(|(_, value)| *value != decisions[0].1)
}

#[test]
fn no_two_decide_differently_whatever_the_detector_says_and_the_network_does() {
    let mut some = 0;
    for seed in 0..3_000 {
        let decisions = hurt(3, Variants::none(), seed);
        assert!(!differ(&decisions), "seed {seed}: {decisions:?}");
        some += usize::from(!decisions.is_empty());
    }
    assert!(some > 1_000, "{some} of them decide at all");
}

/// The control.
#[test]
fn each_mistake_makes_two_decide_differently() {
    // Half of three are a majority, and half of two are not.
    for (size, switch) in
        [(3, Switch::PromiseNotSaved), (3, Switch::AnyValue), (2, Switch::HalfQuorum)]
    {
        let mut seeds = 0..20_000;
        let found = seeds.any(|seed| differ(&hurt(size, Variants::none().with(switch), seed)));
        assert!(found, "{switch:?}");
    }
}
