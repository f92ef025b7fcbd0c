//! O. S. F. Carvalho, G. Roucairol, *On mutual exclusion in computer networks*, CACM 26(2), 1983.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::CarvalhoRoucairol;
use tenure_algorithms::mutex::carvalho_roucairol::{Config, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Property};

use crate::support::mutex::{
    NONE, Plan, check_reentry, check_seeds, enter_and_exit, entered, is_caught, run,
};
use crate::support::{command_and_drain, p, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn plain() -> Config {
    Config::default()
}

fn without_rerequest() -> Config {
    Variants::none().with(VariantId::NoRerequest)
}

fn cluster(size: u32, config: Config) -> TestCluster<CarvalhoRoucairol> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, config)
}

#[test]
fn enters_without_messages_with_all_permissions() {
    let mut cluster = cluster(4, plain());
    for _ in 0..5 {
        assert_eq!(enter_and_exit(&mut cluster, 1), 0, "P1 has all permissions initially");
    }
    assert_eq!(enter_and_exit(&mut cluster, 4), 6, "P4 has no permission");
    assert_eq!(enter_and_exit(&mut cluster, 4), 0, "no peer has requested them");
}

#[test]
fn entry_costs_twice_the_missing_permissions() {
    for size in 1..=7_u32 {
        for seed in 0..50 {
            let (mut cluster, mut rng) = (cluster(size, plain()), SplitMix64(seed));
            // `holder[a][b]`, for a < b, is the process that holds the permission shared by a and
            // b.
            let mut holder: Vec<Vec<usize>> =
                (0..size as usize).map(|one| vec![one; size as usize]).collect();
            for _ in 0..30 {
                let at = rng.below(size as usize);
                let mut missing = 0;
                for peer in (0..size as usize).filter(|peer| *peer != at) {
                    let owner = &mut holder[at.min(peer)][at.max(peer)];
                    missing += u64::from(*owner != at);
                    *owner = at;
                }
                assert_eq!(enter_and_exit(&mut cluster, at as u32 + 1), 2 * missing, "seed {seed}");
            }
        }
    }
}

#[test]
fn smaller_timestamp_enters_first() {
    let mut cluster = cluster(3, plain());
    cluster.issue_command(p(3), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Exit);
    assert_eq!(
        cluster.messages_on_link((p(2), p(3))).len(),
        1,
        "one message from exit to the next entry"
    );
    cluster.deliver_at((p(2), p(3)), 0);
    assert_eq!(entered(&mut cluster), [3]);
}

/// Lets P2 wait for P1's permission while P2 holds the permission that it shares with P3. Then P3
/// requests the shared permission with a smaller timestamp, and P2 must send the permission to P3.
/// Returns the cluster after P3 has entered and exited.
fn yield_while_waiting(config: Config) -> TestCluster<CarvalhoRoucairol> {
    let mut cluster = cluster(3, config);
    enter_and_exit(&mut cluster, 2);
    enter_and_exit(&mut cluster, 1);
    cluster.issue_command(p(3), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    let before = (cluster.sent_count("request"), cluster.sent_count("reply"));
    cluster.deliver_at((p(3), p(2)), 0);
    let asked_again = cluster.sent_count("request") - before.0;
    assert_eq!(cluster.sent_count("reply") - before.1, 1);
    assert_eq!(cluster.messages_on_link((p(2), p(3))).len(), 1 + asked_again as usize);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [3]);
    command_and_drain(&mut cluster, 3, Command::Exit);
    cluster
}

#[test]
fn yielded_permission_is_requested_again() {
    let mut cluster = yield_while_waiting(plain());
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn starves_without_repeated_request() {
    let mut cluster = yield_while_waiting(without_rerequest());
    assert_eq!(entered(&mut cluster), NONE);
    let plan = Plan::of(ChannelOrder::Fifo, &[2, 2, 2]);
    assert!(is_caught::<CarvalhoRoucairol>(&without_rerequest(), &plan, "blocked"));
    assert!(!is_caught::<CarvalhoRoucairol>(&without_rerequest(), &plan, "exclusion"));
}

#[test]
fn entry_costs_at_most_two_messages_per_peer() {
    for size in 1..=6_u32 {
        for order in [ChannelOrder::Fifo, ChannelOrder::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<CarvalhoRoucairol>(plain(), &plan).unwrap();
                let most = CarvalhoRoucairol::card(&plain(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
                assert_eq!(outcome.messages % 2, 0, "seed {seed}: a reply for every request");
            }
        }
    }
}

#[test]
fn holder_of_permissions_can_overtake_waiter() {
    check_reentry(&mut cluster(2, plain()));
    let card = CarvalhoRoucairol::card(&plain(), 2);
    assert!(
        !card.promises.contains(&Property::FirstComeFirstServed)
            && card.promised_bypass_bound().is_none()
    );
}

#[test]
fn channels_need_no_order() {
    let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3]);
    check_seeds::<CarvalhoRoucairol>(&plain(), &plan, 500);
}

#[test]
fn duplicate_message_breaks_exclusion() {
    let plan = Plan::of(ChannelOrder::Fifo, &[2, 2]).duplicating(1);
    assert!(is_caught::<CarvalhoRoucairol>(&plain(), &plan, "exclusion"));
}

#[test]
fn restarted_process_has_no_permission() {
    let mut cluster = cluster(3, plain());
    restart(&mut cluster, 1);
    assert_eq!(enter_and_exit(&mut cluster, 1), 4);
}
