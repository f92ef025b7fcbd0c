//! FloodSet: N. A. Lynch, *Distributed Algorithms*, 1996, section 6.2.1.

use std::collections::BTreeSet;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::FloodSet;
use tenure_algorithms::agreement::floodset::{Config, VariantId};
use tenure_core::{Algorithm, ChannelOrder};
use tenure_trace::TestCluster;

use crate::support::consensus::{decided, propose};
use crate::support::p;
use crate::support::rounds::{Crash, crashes, end_round};

fn config(crashes: Option<u32>, switch: Option<VariantId>) -> Config {
    let none = Variants::none();
    Config {
        variants: switch.map_or(none, |it| none.with(it)),
        ..Config::tolerating_crashes(crashes)
    }
}

/// Lets each process propose its own number, and runs the algorithm for `size` rounds with the
/// given crashes. Returns the decisions and the number of messages.
fn run(size: u32, config: Config, crashes: &[Crash]) -> (Vec<(u32, u64)>, u64) {
    let mut cluster =
        TestCluster::<FloodSet>::with_same_config(size, ChannelOrder::Reordered, config);
    (1..=size).for_each(|at| propose(&mut cluster, at));
    for round in 1..=size {
        end_round(&mut cluster, round, crashes);
    }
    (decided(&mut cluster), cluster.total_sent())
}

fn values(decisions: &[(u32, u64)]) -> BTreeSet<u64> {
    decisions.iter().map(|(_, value)| *value).collect()
}

#[test]
fn all_decide_on_the_smallest_value_after_f_plus_one_rounds() {
    for size in 1..=6 {
        for tolerated in 0..size {
            let (decisions, messages) = run(size, config(Some(tolerated), None), &[]);
            assert_eq!(decisions, (1..=size).map(|at| (at, 1)).collect::<Vec<_>>());
            let rounds = u64::from(tolerated) + 1;
            assert_eq!(messages, rounds * u64::from(size) * u64::from(size - 1));
        }
    }
}

/// Up to `tolerated` processes crash, in every combination of rounds. Any part of the messages that
/// a process sends in the round of its crash may be lost. All processes that decide choose the same
/// value, and all survivors decide.
#[test]
fn survivors_agree_whatever_f_crashes_leave_of_the_broadcasts() {
    for (size, tolerated) in [(2, 1), (3, 1), (3, 2), (4, 1)] {
        let mut runs = 0;
        for crashes in crashes(size, tolerated + 1, tolerated) {
            let (decisions, _) = run(size, config(Some(tolerated), None), &crashes);
            assert!(values(&decisions).len() <= 1, "{crashes:?} {decisions:?}");
            let survivors = size as usize - crashes.len();
            assert!(decisions.len() >= survivors, "{crashes:?} {decisions:?}");
            runs += 1;
        }
        assert!(runs > 1, "{size} {tolerated}");
    }
}

#[test]
fn f_rounds_are_too_few() {
    for (size, tolerated) in [(3, 1), (4, 1)] {
        let less = config(Some(tolerated), Some(VariantId::OneRoundLess));
        let disagrees = |crashes: &Vec<Crash>| values(&run(size, less, crashes).0).len() > 1;
        let found = crashes(size, tolerated, tolerated).find(disagrees).expect("a disagreement");
        assert_eq!(found.len(), tolerated as usize);
        let survivor = |crash: &Crash| crash.reached.len() < size as usize - 1;
        assert!(found.iter().all(survivor), "{found:?}");
    }
}

#[test]
fn default_tolerates_all_crashes_but_one() {
    for crashes in crashes(3, 2, 2) {
        let (decisions, _) = run(3, config(None, None), &crashes);
        assert!(values(&decisions).len() <= 1, "{crashes:?} {decisions:?}");
    }
}

#[test]
fn news_alone_suffices_and_costs_two_broadcasts() {
    let news = config(Some(4), Some(VariantId::OnlyNews));
    let (decisions, messages) = run(6, news, &[]);
    assert_eq!((values(&decisions), decisions.len()), (BTreeSet::from([1]), 6));
    assert_eq!(messages, 2 * 6 * 5);
    let news = config(Some(2), Some(VariantId::OnlyNews));
    for crashes in crashes(3, 3, 2) {
        let (decisions, _) = run(3, news, &crashes);
        assert!(values(&decisions).len() <= 1, "{crashes:?} {decisions:?}");
    }
}

/// The least number of messages on the card is that of a single proposal, and the greatest number
/// is that of a proposal at each process.
#[test]
fn card_bounds_the_messages_of_any_proposals() {
    for switch in [None, Some(VariantId::OnlyNews)] {
        for (size, tolerated) in [(1, 0), (2, 0), (3, 0), (3, 1), (4, 2), (6, 4)] {
            let config = config(Some(tolerated), switch);
            let sent = |initiators: u32| {
                let mut cluster = TestCluster::<FloodSet>::with_same_config(
                    size,
                    ChannelOrder::Reordered,
                    config,
                );
                (1..=initiators).for_each(|at| propose(&mut cluster, at));
                (1..=size).for_each(|round| end_round(&mut cluster, round, &[]));
                cluster.total_sent()
            };
            let cost = FloodSet::card(&config, size).messages;
            assert_eq!((sent(1), Some(sent(size))), (cost.least, cost.most), "{switch:?} {size}");
        }
    }
}

#[test]
fn process_without_proposal_joins_and_decides() {
    let mut cluster = TestCluster::<FloodSet>::with_same_config(
        3,
        ChannelOrder::Reordered,
        config(Some(1), None),
    );
    propose(&mut cluster, 2);
    for round in 1..=3 {
        end_round(&mut cluster, round, &[]);
    }
    assert_eq!(decided(&mut cluster), [(1, 2), (2, 2), (3, 2)]);
    propose(&mut cluster, 1);
    assert_eq!(decided(&mut cluster), [(1, 2)]);
    assert!(cluster.armed_timers().is_empty(), "no process takes part any more");
    assert!(cluster.is_up(p(1)));
}
