//! Several named locks that a process acquires one after the other.

use std::sync::Arc;

use tenure_algorithms::compose::keyed::LockName;
use tenure_algorithms::compose::lock_sequence::Config;
use tenure_algorithms::compose::{CoordinatedLock, LockSequence, MutexOnly};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, RicartAgrawala, central, ricart_agrawala};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Protocol, TICKS_PER_TIME_UNIT};

use crate::support::mutex::{NONE, Plan, check_seeds, entered, is_caught};
use crate::support::{
    command_and_drain, command_and_settle, crash_and_suspect, p, recover_and_trust,
};
use tenure_trace::TestCluster;

type Locks = LockSequence<Central>;

/// Returns a configuration with the names of the locks that each process needs, in order.
fn config(names: &[&[&str]]) -> Config<central::Config> {
    Config { lock_names_by_process: named(names), inner: central::Config::default() }
}

fn named(names: &[&[&str]]) -> Arc<[Vec<LockName>]> {
    let list = |names: &&[&str]| names.iter().map(|name| LockName::new(name).unwrap()).collect();
    names.iter().map(list).collect()
}

const SORTED: [&[&str]; 3] = [&["büro", "办公室"], &["büro", "办公室"], &["büro", "办公室"]];
const OPPOSITE: [&[&str]; 3] = [&["büro", "办公室"], &["办公室", "büro"], &["büro", "办公室"]];

#[test]
fn same_order_serves_all() {
    let plan = Plan::of(ChannelOrder::Reordered, &[2, 2, 2]).duplicating(2);
    check_seeds::<Locks>(&config(&SORTED), &plan, 500);
}

#[test]
fn opposite_orders_deadlock_safely() {
    let plan = Plan::of(ChannelOrder::Reordered, &[1, 1, 1]);
    assert!(is_caught::<Locks>(&config(&OPPOSITE), &plan, "blocked"));
    assert!(!is_caught::<Locks>(&config(&OPPOSITE), &plan, "exclusion"));
}

#[test]
fn fence_is_that_of_the_smallest_name() {
    // `a` is the only lock that all processes need. Each of the other locks has its own fence.
    let names: [&[&str]; 3] = [&["b", "a"], &["a", "c"], &["a", "c"]];
    check_seeds::<Locks>(&config(&names), &Plan::of(ChannelOrder::Reordered, &[2, 2, 2]), 200);
}

#[test]
fn disjoint_locks_do_not_wait() {
    let names: [&[&str]; 3] = [&["a", "b"], &["b", "c"], &["d"]];
    let mut cluster = TestCluster::<Locks>::with_same_config(3, ChannelOrder::Fifo, config(&names));
    for (number, enters) in [(1, &[1][..]), (2, &NONE), (3, &[3])] {
        command_and_drain(&mut cluster, number, Command::Enter);
        assert_eq!(entered(&mut cluster), enters);
    }
    command_and_drain(&mut cluster, 1, Command::Exit);
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn card_sums_the_cost_of_all_locks() {
    let names = named(&[&["a", "b"], &["b", "c"], &["a", "b", "c"]]);
    let config = Config { lock_names_by_process: names, inner: ricart_agrawala::Config::default() };
    let card = LockSequence::<RicartAgrawala>::card(&config, 3);
    assert_eq!(card.name, "in-turn:ricart-agrawala");
    assert_eq!(card.messages.formula, "the cost of each lock");
    // A process needs two or three locks, and each lock costs 4 messages.
    assert_eq!((card.messages.least, card.messages.most), (8, Some(12)));
}

#[test]
fn locks_keep_state_timers_and_suspicions() {
    type CoordinatedLocks = LockSequence<MutexOnly<CoordinatedLock<Bully>>>;
    let names: [&[&str]; 3] = [&["a", "b"], &["a", "b"], &["a", "b"]];
    let inner = bully::Config::with_defaults(3, TICKS_PER_TIME_UNIT).into();
    let mut cluster = TestCluster::<CoordinatedLocks>::with_same_config(
        3,
        ChannelOrder::Fifo,
        Config { lock_names_by_process: named(&names), inner },
    );
    command_and_settle(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    command_and_settle(&mut cluster, 1, Command::Exit);
    assert_eq!(cluster.process(p(3)).unwrap().stable().len(), 2, "one persisted state per lock");
    crash_and_suspect(&mut cluster, 3);
    command_and_settle(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [2], "P2 leads, because P3 is suspected");
    cluster.issue_command(p(2), Command::Exit);
    recover_and_trust(&mut cluster, 3);
    command_and_settle(&mut cluster, 3, Command::Enter);
    assert_eq!(entered(&mut cluster), [3], "P3 leads again, in a later term");
}
