//! Coordinators take turns until a majority adopts one estimate.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ChandraToueg;
use tenure_algorithms::agreement::chandra_toueg::Switch;
use tenure_core::{Algorithm, Order, Verdict};
use tenure_trace::{Dice, Stage};

use crate::support::consensus::{decided, propose};
use crate::support::p;

fn stage(size: u32, variants: Variants<Switch>) -> Stage<ChandraToueg> {
    Stage::alike(size, Order::Reordered, variants)
}

#[test]
fn where_nobody_errs_all_decide_one_of_what_was_proposed() {
    for size in 1..=7 {
        let mut stage = stage(size, Variants::none());
        (1..=size).for_each(|at| propose(&mut stage, at));
        stage.settle();
        let decided = decided(&mut stage);
        let who: Vec<u32> = decided.iter().map(|(at, _)| *at).collect();
        assert_eq!(who, (1..=size).collect::<Vec<u32>>());
        assert!(decided.iter().all(|(_, value)| *value == decided[0].1), "{decided:?}");
        assert!((1..=u64::from(size)).contains(&decided[0].1));
        let least = ChandraToueg::card(&Variants::none(), size).messages.least;
        assert!(stage.total_sent() >= least, "{size}");
    }
}

#[test]
fn a_coordinator_that_crashed_is_suspected_and_the_next_one_decides() {
    for patient in [false, true] {
        let variants = Variants::none();
        let variants = if patient { variants.with(Switch::Patient) } else { variants };
        let mut stage = stage(3, variants);
        stage.crash(p(1));
        propose(&mut stage, 2);
        propose(&mut stage, 3);
        stage.suspicion(p(2), p(1), Verdict::Suspect);
        stage.suspicion(p(3), p(1), Verdict::Suspect);
        stage.settle();
        let expected = if patient { vec![] } else { vec![(2, 3), (3, 3)] };
        assert_eq!(decided(&mut stage), expected);
    }
}

#[test]
fn without_a_majority_it_blocks() {
    let mut stage = stage(3, Variants::none());
    stage.crash(p(2));
    stage.crash(p(3));
    propose(&mut stage, 1);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.settle();
    assert_eq!(decided(&mut stage), []);
}

/// A refusal may overtake the estimate of its round, and come before the others' estimates.
#[test]
fn an_answer_that_comes_early_counts_when_its_time_has_come() {
    let mut stage = stage(3, Variants::none());
    propose(&mut stage, 2);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    propose(&mut stage, 3);
    stage.crash(p(3));
    // P1 hears of P2's refusal of round 1 first, and begins only then.
    stage.pass((p(2), p(1)), 1);
    propose(&mut stage, 1);
    stage.settle();
    stage.suspicion(p(2), p(1), Verdict::Trust);
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.suspicion(p(2), p(3), Verdict::Suspect);
    stage.settle();
    assert_eq!(decided(&mut stage).len(), 2, "P1 and P2 are a majority");
}

/// Anybody is suspected at any moment and trusted again, and messages are late, doubled and lost.
fn hurt(variants: Variants<Switch>, seed: u64) -> Vec<(u32, u64)> {
    let mut stage = stage(3, variants);
    let mut dice = Dice(seed);
    (1..=3).for_each(|at| propose(&mut stage, at));
    let mut decisions = Vec::new();
    for _ in 0..120 {
        let links = stage.busy_links();
        let [at, peer] = [1, 2].map(|_| p(dice.below(3) as u32 + 1));
        match dice.below(10) {
            0 if at != peer => stage.suspicion(at, peer, Verdict::Suspect),
            1 if at != peer => stage.suspicion(at, peer, Verdict::Trust),
            2 if !links.is_empty() => stage.duplicate(links[dice.below(links.len())]),
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
fn no_two_decide_differently_whatever_the_detectors_say() {
    let mut some = 0;
    for seed in 0..3_000 {
        let decisions = hurt(Variants::none(), seed);
        assert!(!differ(&decisions), "seed {seed}: {decisions:?}");
        some += usize::from(!decisions.is_empty());
    }
    assert!(some > 1_000, "{some} of them decide at all");
}

/// The control.
#[test]
fn each_mistake_makes_two_decide_differently() {
    for switch in [Switch::OwnEstimate, Switch::Unstamped] {
        let mut seeds = 0..20_000;
        let found = seeds.any(|seed| differ(&hurt(Variants::none().with(switch), seed)));
        assert!(found, "{switch:?}");
    }
}
