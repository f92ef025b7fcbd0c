//! Raymond's k-mutex: a process enters when all but k − 1 of the others have replied.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::KMutex;
use tenure_algorithms::mutex::k_mutex::{Config, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Card, ChannelOrder, Property};

use crate::support::mutex::{NONE, Plan, entered, run_as};
use crate::support::{command_and_settle, p};
use tenure_trace::TestCluster;

fn at_most(most: u32) -> Config {
    Config::with_max_inside(NonZeroU32::new(most).unwrap())
}

fn cluster(size: u32, most: u32) -> TestCluster<KMutex> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, at_most(most))
}

fn plan(entries: Vec<u32>, duplicates: u32, seed: u64) -> Plan {
    Plan { order: ChannelOrder::Reordered, entries, duplicates, losses: 0, seed }
}

#[test]
fn enters_after_n_minus_k_replies() {
    let mut cluster = cluster(5, 2);
    cluster.issue_command(p(1), Command::Enter);
    for peer in 2..=5 {
        cluster.deliver_at((p(1), p(peer)), 0);
    }
    for peer in 2..=3 {
        cluster.deliver_at((p(peer), p(1)), 0);
        assert_eq!(entered(&mut cluster), NONE);
    }
    cluster.deliver_at((p(4), p(1)), 0);
    assert_eq!(entered(&mut cluster), [1], "N − k = 3 replies");
}

#[test]
fn two_of_three_enter_and_the_third_waits() {
    let mut cluster = cluster(3, 2);
    (1..=3).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    cluster.run_until_quiescent();
    assert_eq!(entered(&mut cluster), [1, 2]);
    command_and_settle(&mut cluster, 1, Command::Exit);
    assert_eq!(entered(&mut cluster), [3]);
}

#[test]
fn entry_cost_is_within_bounds() {
    for size in 1..=6_u32 {
        for most in 1..=4_u32 {
            let cost = KMutex::card(&at_most(most), size).messages;
            let mut mixed = false;
            for seed in 0..100 {
                let plan = plan(vec![3; size as usize], 0, seed);
                let card = KMutex::card(&at_most(most), size);
                let context = format!("n = {size}, k = {most}, seed {seed}");
                let outcome = run_as::<KMutex>(&card, at_most(most), &plan).expect(&context);
                assert!(outcome.messages >= cost.least * outcome.entries, "{context}: {outcome:?}");
                let ceiling = cost.most.unwrap() * outcome.entries;
                assert!(outcome.messages <= ceiling, "{context}: {outcome:?}");
                mixed |= outcome.messages < ceiling;
            }
            assert_eq!(mixed, most > 1 && size > 1, "n = {size}, k = {most}: a reply is saved");
        }
    }
}

/// P1, P2 and P3 enter one after the other and stay inside the critical section. A process inside
/// the critical section sends no reply. The third entry therefore costs only N − 1 requests and N −
/// k replies, which is the minimum.
#[test]
fn minimum_cost_is_2n_minus_k_minus_1() {
    let mut cluster = cluster(4, 3);
    command_and_settle(&mut cluster, 1, Command::Enter);
    command_and_settle(&mut cluster, 2, Command::Enter);
    command_and_settle(&mut cluster, 3, Command::Enter);
    assert_eq!(entered(&mut cluster), [1, 2, 3]);
    // P3 has sent N − 1 requests and received N − k replies, which is one reply.
    assert_eq!(cluster.total_sent(), (3 + 3) + (3 + 2) + (3 + 1));
}

#[test]
fn crash_occupies_one_place() {
    let mut cluster = cluster(3, 2);
    command_and_settle(&mut cluster, 3, Command::Enter);
    cluster.crash(p(3));
    for at in [1, 2, 1] {
        command_and_settle(&mut cluster, at, Command::Enter);
        cluster.issue_command(p(at), Command::Exit);
    }
    assert_eq!(entered(&mut cluster), [3, 1, 2, 1]);
    cluster.issue_command(p(1), Command::Enter);
    command_and_settle(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [1], "only the place of P3 is lost");
}

#[test]
fn one_place_equals_ricart_agrawala() {
    let card = KMutex::card(&at_most(1), 5);
    assert!(card.promises.contains(&Property::MutualExclusion));
    assert_eq!((card.messages.least, card.messages.most), (8, Some(8)));
    for seed in 0..300 {
        let outcome = run_as::<KMutex>(&card, at_most(1), &plan(vec![3; 4], 0, seed));
        let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(outcome.messages, 2 * 3 * outcome.entries, "seed {seed}");
    }
}

#[test]
fn at_most_k_inside_despite_duplicates() {
    for seed in 0..500 {
        let card = KMutex::card(&at_most(2), 4);
        let plan = plan(vec![3; 4], 4, seed);
        run_as::<KMutex>(&card, at_most(2), &plan)
            .unwrap_or_else(|error| panic!("{plan:?}: {error}"));
    }
}

#[test]
fn mutual_exclusion_does_not_hold() {
    let card = KMutex::card(&at_most(2), 3);
    assert_eq!(card.promises, [Property::KExclusion(2), Property::StarvationFreedom]);
    let stricter = Card { promises: vec![Property::MutualExclusion], ..card };
    let plans = (0..50).map(|seed| plan(vec![1; 3], 0, seed));
    let mut errors = plans.filter_map(|plan| run_as::<KMutex>(&stricter, at_most(2), &plan).err());
    assert!(errors.any(|error| error.contains("mutual-exclusion")));
}

#[test]
fn untagged_surplus_reply_breaks_the_bound() {
    let variants = Variants::none().with(VariantId::UntaggedReply);
    let config = Config { variants, ..at_most(2) };
    let card = KMutex::card(&config, 3);
    let caught = (0..3000)
        .find_map(|seed| run_as::<KMutex>(&card, config.clone(), &plan(vec![2; 3], 0, seed)).err());
    assert!(caught.is_some());
}
