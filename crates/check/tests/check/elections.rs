//! Tests of elections on rings and of the bully algorithm. Timeouts are perfect in some tests and
//! wrong in others. The judgements must equal those in `docs/checklist.md`.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, bully, chang_roberts, hirschberg_sinclair,
};
use tenure_check::Check;
use tenure_core::monitors::{BestRankLeads, LeaderAgreement, LeaderScope, OneLeader};
use tenure_core::{Algorithm, Election, ProcessId, Rank, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, variants, with};
use crate::catalogue::{holds, violated};

pub(crate) fn ranks(ids: &[u32]) -> Arc<[Rank]> {
    ids.iter().map(|id| Rank::from_id(*id)).collect()
}

pub(crate) fn with_properties<P: Election>(check: Check<P>, ids: &[u32]) -> Check<P> {
    let validity = BestRankLeads::new(ranks(ids).to_vec());
    check.always_and_at_end(LeaderAgreement::new()).always_and_at_end(validity).check_progress()
}

pub(crate) fn chang_roberts(
    ids: &[u32],
    switches: Variants<chang_roberts::VariantId>,
) -> ServiceCheck<ChangRoberts> {
    let config = chang_roberts::Config::with_ranks(ranks(ids), switches);
    with::<ChangRoberts>(ids.len() as u32, config)
}

#[test]
fn cr_le_chang_roberts_elects_the_largest_on_fifo_links() {
    for ids in [[3, 1, 2], [3, 2, 1], [1, 2, 3]] {
        let unmarked = Variants::none().with(chang_roberts::VariantId::UnmarkedForward);
        for variants in [Variants::none(), unmarked] {
            with_properties(chang_roberts(&ids, variants).fifo(), &ids).run().assert_holds();
        }
    }
}

#[test]
fn cr_le_late_initiator_starves_without_fifo() {
    let ids = [3, 1, 2];
    let report = with_properties(chang_roberts(&ids, Variants::none()), &ids).run();
    holds(&report, "agreement");
    holds(&report, "validity");
    violated(&report, "progress", 8);
}

#[test]
fn hirschberg_sinclair_elects_the_largest() {
    with_properties(hirschberg_sinclair(&[2, 3, 1]).fifo(), &[2, 3, 1]).run().assert_holds();
}

/// Returns a check with ranks equal to the process numbers, and with failure detectors.
pub(crate) fn bully(size: u32, switches: &[bully::VariantId]) -> ServiceCheck<Bully> {
    let plain = bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
    with::<Bully>(size, bully::Config { variants: variants(switches), ..plain })
        .detecting_failures()
}

#[test]
fn b1_wrong_timeouts_without_terms_cause_lasting_disagreement() {
    let check = bully(2, &[bully::VariantId::NoTerms, bully::VariantId::AcceptLower]);
    let check = check.initiators([ProcessId(0)]).always_and_at_end(LeaderAgreement::new());
    violated(&check.run(), "agreement", 5);
}

#[test]
fn b2_perfect_timeouts_tolerate_crashes() {
    let check = bully(3, &[bully::VariantId::NoTerms]).synchronous(0..=1).max_crashes(2);
    let check = check.initiators([ProcessId(0)]);
    let report =
        with_properties(check, &[1, 2, 3]).always(OneLeader::new(LeaderScope::Overall)).run();
    report.assert_holds();
}

fn falsely_suspecting(size: u32, suspicions: u32) -> Check<impl Election> {
    let check = bully(size, &[bully::VariantId::NoTerms]).synchronous(0..=1);
    let ids: Vec<u32> = (1..=size).collect();
    with_properties(check.max_false_suspicions(suspicions).initiators([ProcessId(0)]), &ids)
}

#[test]
fn b2_perfect_timeouts_tolerate_false_suspicions() {
    falsely_suspecting(3, 1).run().assert_holds();
    falsely_suspecting(2, 2).run().assert_holds();
}

#[test]
#[ignore = "takes half a minute on two cores"]
fn b2_perfect_timeouts_tolerate_two_false_suspicions_of_three() {
    falsely_suspecting(3, 2).run().assert_holds();
}

#[test]
fn b3_recovery_without_terms_causes_lasting_disagreement() {
    let check = bully(2, &[bully::VariantId::NoTerms, bully::VariantId::AcceptLower]);
    let check =
        check.synchronous(0..=1).max_crashes(1).max_recoveries(1).initiators([ProcessId(0)]);
    violated(&check.always_and_at_end(LeaderAgreement::new()).run(), "agreement", 7);
}

#[test]
fn terms_let_two_agree_with_any_timeouts() {
    let one = || bully(2, &[]).initiators([ProcessId(0)]).always_and_at_end(LeaderAgreement::new());
    let recovering = one().max_crashes(1).max_recoveries(1).max_term_of(Algorithm::highest_term, 3);
    holds(&recovering.run(), "agreement");
    let falsely_suspecting =
        one().max_false_suspicions(1).max_crashes(1).max_term_of(Algorithm::highest_term, 3);
    let report = falsely_suspecting.run();
    holds(&report, "agreement");
    assert_eq!(report.bounds.term_max, Some(3), "an exceeded bound is reported");
}

#[test]
fn chang_roberts_matches_fault_matrix() {
    let ids = [3, 1, 2];
    let ring = || chang_roberts(&ids, Variants::none()).fifo();
    with_properties(ring().max_duplicates(1), &ids).run().assert_holds();
    // Wrong timeouts do not affect an algorithm without timeouts.
    with_properties(ring().max_false_suspicions(1), &ids).run().assert_holds();
    // A lost message blocks the election. So does a crashed process, because the ring is not
    // repaired.
    for (check, steps) in [
        (ring().max_losses(1), 2),
        (ring().initially_down([ProcessId(1)]), 1),
        (ring().max_crashes(1), 2),
        (ring().max_crashes(1).max_recoveries(1), 3),
    ] {
        violated(&with_properties(check, &ids).run(), "progress", steps);
    }
}

pub(crate) fn hirschberg_sinclair(ids: &[u32]) -> ServiceCheck<HirschbergSinclair> {
    let config = hirschberg_sinclair::Config::with_ranks(ranks(ids));
    with::<HirschbergSinclair>(ids.len() as u32, config)
}

/// First checks an election with one initiator on links that reorder messages. Then checks the
/// effects of faults on FIFO links. If all processes are initiators, links that reorder messages
/// lead to five million states. Another test explores these states, and is ignored by default.
#[test]
fn hirschberg_sinclair_matches_fault_matrix() {
    let ids = [3, 1, 2];
    let ring = || hirschberg_sinclair(&ids);
    for first in 0..3 {
        with_properties(ring().initiators([ProcessId(first)]), &ids).run().assert_holds();
    }
    with_properties(ring().fifo().max_duplicates(1), &ids).run().assert_holds();
    violated(&with_properties(ring().fifo().max_losses(1), &ids).run(), "progress", 2);
    violated(&with_properties(ring().fifo().max_crashes(1), &ids).run(), "progress", 2);
    violated(
        &with_properties(ring().fifo().initially_down([ProcessId(1)]), &ids).run(),
        "progress",
        1,
    );
}

#[test]
#[ignore = "takes half a minute on two cores"]
fn hirschberg_sinclair_tolerates_reordering() {
    let ids = [3, 1, 2];
    with_properties(hirschberg_sinclair(&ids), &ids).run().assert_holds();
}
