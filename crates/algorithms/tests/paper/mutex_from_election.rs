//! A lock made of elections: each entry is an election among the waiting processes.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann, bully,
    chang_roberts, dolev_klawe_rodeh, franklin, hirschberg_sinclair, lelann,
};
use tenure_algorithms::reduction::MutexFromElection;
use tenure_algorithms::reduction::mutex_from_election::{Config, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Election, TICKS_PER_TIME_UNIT};

use crate::support::mutex::{NONE, Plan, entered, run};
use crate::support::p;
use tenure_trace::{SplitMix64, TestCluster};

fn elections<C>(election: C) -> Config<C> {
    Config { election, variants: Variants::none() }
}

fn cluster(
    size: u32,
    variants: Variants<VariantId>,
) -> TestCluster<MutexFromElection<ChangRoberts>> {
    let election = chang_roberts::Config::with_defaults(size);
    TestCluster::with_same_config(size, ChannelOrder::Fifo, Config { election, variants })
}

#[test]
fn works_with_any_election() {
    fn check_election<E: Election + Algorithm>(config: impl Fn(u32) -> E::Config) {
        for seed in 0..200 {
            let size = 1 + (seed % 5) as u32;
            let plan = Plan::of(ChannelOrder::Fifo, &vec![3; size as usize]).seeded(seed);
            let config = elections(config(size));
            let cost = <MutexFromElection<E>>::card(&config, size).messages;
            let outcome = run::<MutexFromElection<E>>(config, &plan);
            let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(outcome.entries, u64::from(size) * 3, "seed {seed}");
            let most = cost.most.expect("an election ends");
            assert!(outcome.messages <= most * outcome.entries, "seed {seed}");
            assert!(outcome.messages >= cost.least * outcome.entries, "seed {seed}");
        }
    }
    check_election::<ChangRoberts>(chang_roberts::Config::with_defaults);
    check_election::<LeLann>(lelann::Config::with_defaults);
    check_election::<HirschbergSinclair>(hirschberg_sinclair::Config::with_defaults);
    check_election::<DolevKlaweRodeh>(dolev_klawe_rodeh::Config::with_defaults);
    check_election::<Franklin>(franklin::Config::with_defaults);
}

/// Builds the lock from the bully algorithm. This algorithm depends on timeouts, so the test
/// delivers every message within the delay that the timeouts assume.
#[test]
fn works_with_the_bully() {
    let config = elections(bully::Config::with_defaults(3, TICKS_PER_TIME_UNIT));
    let mut cluster =
        TestCluster::<MutexFromElection<Bully>>::with_same_config(3, ChannelOrder::Fifo, config);
    (1..=3).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    let mut order = Vec::new();
    for _ in 0..3 {
        cluster.run_until_quiescent();
        let inside = entered(&mut cluster);
        assert_eq!(inside.len(), 1, "{inside:?}");
        cluster.issue_command(p(inside[0]), Command::Exit);
        order.extend(inside);
    }
    assert_eq!(order, [1, 2, 3], "in the order of the requests");
}

#[test]
fn uncontested_entry_costs_a_request_and_an_election() {
    let mut cluster = cluster(5, Variants::none());
    cluster.issue_command(p(3), Command::Enter);
    cluster.deliver_all(&mut SplitMix64(1));
    assert_eq!(entered(&mut cluster), [3]);
    // P1 starts the election. Its rank travels 2 hops to P3, and P3's rank travels 5 hops. The
    // announcement travels 5 hops.
    assert_eq!((cluster.sent_count("request"), cluster.sent_count("election")), (4, 2 + 5));
    assert_eq!(cluster.sent_count("elected"), 5);
}

#[test]
fn calls_election_only_for_a_waiter() {
    let mut cluster = cluster(3, Variants::none());
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_all(&mut SplitMix64(1));
    cluster.issue_command(p(2), Command::Exit);
    cluster.deliver_all(&mut SplitMix64(1));
    let before = cluster.total_sent();
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(3), Command::Enter);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.deliver_at((p(3), p(2)), 0);
    assert_eq!(cluster.total_sent(), before + 2 + 1, "two requests, and P2 starts an election");
    cluster.deliver_all(&mut SplitMix64(1));
    assert_eq!(entered(&mut cluster), [3]);
}

/// P2 and P3 request the lock again and again. With ranks that do not depend on the requests, P1
/// has the smallest rank and never enters. With ranks that depend on the requests, P1 enters.
#[test]
fn static_ranks_starve_the_smallest() {
    let greedy = |variants| {
        let mut cluster = cluster(3, variants);
        cluster.issue_command(p(3), Command::Enter);
        cluster.deliver_all(&mut SplitMix64(7));
        let mut order = entered(&mut cluster);
        cluster.issue_command(p(2), Command::Enter);
        cluster.issue_command(p(1), Command::Enter);
        while !order.contains(&1) && order.len() < 20 {
            cluster.deliver_all(&mut SplitMix64(7));
            let left = p(order[order.len() - 1]);
            cluster.issue_command(left, Command::Exit);
            cluster.issue_command(left, Command::Enter);
            cluster.deliver_all(&mut SplitMix64(7));
            order.extend(entered(&mut cluster));
        }
        order
    };
    assert_eq!(greedy(Variants::none()), [3, 1], "the earlier request, by clock and then by id");
    let unfair = greedy(Variants::none().with(VariantId::StaticRanks));
    assert_eq!(unfair, [3, 2].repeat(10), "P1 waits all the time");
}
