//! M. Naimi, M. Trehel, A. Arnold, *A log(N) distributed mutual exclusion algorithm based on path
//! reversal*, JPDC 34(1), 1996.

use tenure_algorithms::mutex::NaimiTrehel;
use tenure_algorithms::mutex::naimi_trehel::Message;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder};

use crate::support::mutex::{
    Plan, check_handovers, check_reentry, check_seeds, check_token_loss, enter_and_exit, entered,
    is_caught, run,
};
use crate::support::{command_and_drain, p};
use tenure_trace::{SplitMix64, TestCluster};

fn cluster(size: u32) -> TestCluster<NaimiTrehel> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, ())
}

#[test]
fn root_enters_free_and_neighbour_with_two_messages() {
    let mut cluster = cluster(5);
    assert_eq!(enter_and_exit(&mut cluster, 1), 0);
    assert_eq!(enter_and_exit(&mut cluster, 4), 2, "a request to P1, and the token");
    assert_eq!(enter_and_exit(&mut cluster, 4), 0);
    assert_eq!(enter_and_exit(&mut cluster, 2), 3, "via P1 to P4, and the token");
}

/// A process that forwards a request points to the requester from then on. After the requests of
/// P2, both P1 and P4 point directly to P2. A request of P1 or of P4 then costs only two messages:
/// the request and the token.
#[test]
fn request_reverses_its_path() {
    let mut cluster = cluster(5);
    enter_and_exit(&mut cluster, 4);
    enter_and_exit(&mut cluster, 2);
    assert_eq!(enter_and_exit(&mut cluster, 1), 2);
    enter_and_exit(&mut cluster, 2);
    assert_eq!(enter_and_exit(&mut cluster, 4), 2);
}

/// P3 has the token. The request of P4 travels along the path P4 → P1 → P2 → P3, and P3 sends the
/// token to P4. The request and the token cost four messages in total.
#[test]
fn path_through_all_costs_n_messages() {
    let mut cluster = cluster(4);
    for (at, cost) in [(3, 2), (2, 3), (3, 2), (4, 4)] {
        assert_eq!(enter_and_exit(&mut cluster, at), cost, "P{at}");
    }
}

#[test]
fn sequential_entry_costs_at_most_n_messages() {
    for size in 2..=5_u32 {
        let mut worst = 0;
        for seed in 0..2000 {
            let (mut cluster, mut rng) = (cluster(size), SplitMix64(seed));
            for _ in 0..20 {
                let at = rng.below(size as usize) as u32 + 1;
                worst = worst.max(enter_and_exit(&mut cluster, at));
            }
        }
        assert_eq!(worst, u64::from(size));
    }
}

#[test]
fn entries_cost_at_most_n_messages_on_average() {
    for size in 1..=6_u32 {
        for order in [ChannelOrder::Fifo, ChannelOrder::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<NaimiTrehel>((), &plan).unwrap();
                let most = NaimiTrehel::card(&(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
            }
        }
    }
}

#[test]
fn waiters_form_a_queue() {
    let mut cluster = cluster(4);
    cluster.issue_command(p(1), Command::Enter);
    for at in [3, 2, 4] {
        command_and_drain(&mut cluster, at, Command::Enter);
    }
    assert_eq!(entered(&mut cluster), [1]);
    check_handovers(&mut cluster, &[(1, 3), (3, 2), (2, 4)]);
}

#[test]
fn channels_need_no_order() {
    let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3, 3]);
    check_seeds::<NaimiTrehel>(&(), &plan, 500);
}

#[test]
fn holder_reenters_until_a_request_arrives() {
    check_reentry(&mut cluster(2));
    assert!(NaimiTrehel::card(&(), 2).promised_bypass_bound().is_none());
}

#[test]
fn duplicate_message_breaks_exclusion() {
    let plan = Plan::of(ChannelOrder::Fifo, &[2, 2, 2]).duplicating(1);
    assert!(is_caught::<NaimiTrehel>(&(), &plan, "exclusion"));
}

#[test]
fn returned_request_and_unexpected_token_are_ignored() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    let before = cluster.total_sent();
    cluster.inject_and_deliver(p(1), p(2), Message::Request { requester: p(2) });
    cluster.inject_and_deliver(p(1), p(3), Message::Token { entries: 7 });
    assert_eq!(cluster.total_sent(), before);
    assert_eq!(enter_and_exit(&mut cluster, 2), 0);
    assert_eq!(enter_and_exit(&mut cluster, 3), 3);
}

#[test]
fn crashed_holder_loses_the_token() {
    check_token_loss(&mut cluster(3));
}
