//! Tests of Misra's ring with two tokens. In every schedule, the ring replaces one lost token.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{MisraRing, misra_ring};
use tenure_check::Judgement;
use tenure_core::Algorithm;
use tenure_core::monitors::{Bypass, MutualExclusion, RequestOrder};

use crate::by_service::{ServiceCheck, of, with};
use crate::catalogue::{holds, violates};
use crate::survival::{survives, with_properties};

fn check(size: u32) -> ServiceCheck<MisraRing> {
    of::<MisraRing>(size).fifo()
}

#[test]
fn safe_live_and_bypassed_once() {
    for (size, entries, states) in [(2, 2, 24_322), (3, 1, 206_118)] {
        let check = check(size).request_limits(entries).always(Bypass::at_most(1));
        assert_eq!(survives(check), states, "n = {size}");
    }
}

#[test]
fn one_lost_token_is_regenerated_but_not_both() {
    with_properties(check(2).request_limits(2).max_losses(1)).assert_holds();
    with_properties(check(3).request_limits(1).max_losses(1)).assert_holds();
    let both = with_properties(check(2).max_losses(2));
    holds(&both, "mutual-exclusion");
    holds(&both, "fencing");
    violates(&both, "starvation-freedom");
}

/// The new ping may begin at a process after the waiting process on the ring. Another process can
/// then enter twice before the waiting process.
#[test]
fn one_loss_adds_one_bypass() {
    let bypass = |size: u32, most| {
        let entries: &[u32] = if size == 2 { &[3, 1] } else { &[2, 1, 0] };
        check(size).request_limits(entries).max_losses(1).always(Bypass::at_most(most)).run()
    };
    for size in [2, 3] {
        let promised = MisraRing::card(&misra_ring::Config::default(), size);
        assert_eq!(promised.promised_bypass_bound(), Some(2));
        bypass(size, 2).assert_holds();
        violates(&bypass(size, 1), "bounded-bypass");
    }
}

/// The tokens of Misra's ring carry a number that is counted modulo N + 1. With the variant
/// `FewNumbers`, the number is counted modulo N, and mutual exclusion is violated with two and with
/// three processes.
#[test]
fn needs_n_plus_one_numbers() {
    let variants = Variants::none().with(misra_ring::VariantId::FewNumbers);
    let few = || misra_ring::Config { variants, ..misra_ring::Config::default() };
    for size in 2..=3 {
        let wrong = with::<MisraRing>(size, few()).fifo();
        let report = wrong.always(MutualExclusion::new()).run();
        assert_eq!(
            report.judgement_of("mutual-exclusion"),
            Judgement::Violated,
            "n = {size}: {report}"
        );
    }
}

#[test]
fn tokens_overtake_each_other_without_fifo() {
    let report = of::<MisraRing>(2).request_limits(2).always(MutualExclusion::new()).run();
    violates(&report, "mutual-exclusion");
}

/// A duplicated message makes Misra's ring unsafe, and a crash blocks it.
#[test]
fn duplicate_is_unsafe_and_crash_blocks() {
    violates(&check(2).max_duplicates(1).always(MutualExclusion::new()).run(), "mutual-exclusion");
    let crash = with_properties(check(2).max_crashes(1));
    holds(&crash, "mutual-exclusion");
    violates(&crash, "starvation-freedom");
}

/// The lock violates the order of requests. The reason is that the ring has two tokens, the ping
/// and the pong. The pong can overtake the ping and tell a process of an earlier request. On a ring
/// with one token, this is impossible.
#[test]
fn does_not_keep_request_order() {
    violates(&check(3).always(RequestOrder::new()).run(), "order");
}
