//! Elections: the catalogue's verdicts on rings and on the bully, with wrong and with perfect
//! timeouts.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Bully, ChangRoberts, HirschbergSinclair, bully, chang_roberts};
use tenure_check::Check;
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, OneLeader, Scope, Validity};
use tenure_core::{Algorithm, Election, ProcessId, Rank, TICKS_PER_UNIT};

use crate::among::{Among, with};
use crate::catalogue::{holds, violated};

pub(crate) fn ranks(ids: &[u32]) -> Arc<[Rank]> {
    ids.iter().map(|id| Rank::of_id(*id)).collect()
}

pub(crate) fn judged<P: Election>(check: Check<P>, ids: &[u32]) -> Check<P> {
    let validity = Validity::new(ranks(ids).to_vec());
    check.in_the_end(Agreement::new()).in_the_end(validity).progress()
}

fn chang_roberts(ids: &[u32], switches: Variants<chang_roberts::Switch>) -> Among<ChangRoberts> {
    let config = chang_roberts::Config::of(ranks(ids), switches);
    with::<ChangRoberts>(ids.len() as u32, config)
}

#[claims("7-CR-LE")]
#[test]
fn cr_le_chang_roberts_elects_the_largest_on_fifo_links() {
    for ids in [[3, 1, 2], [3, 2, 1], [1, 2, 3]] {
        let unmarked = Variants::none().with(chang_roberts::Switch::UnmarkedForward);
        for variants in [Variants::none(), unmarked] {
            judged(chang_roberts(&ids, variants).fifo(), &ids).run().assert_holds();
        }
    }
}

#[claims("7-CR-LE", "I-63")]
#[test]
fn cr_le_without_fifo_a_late_initiator_waits_for_ever() {
    let ids = [3, 1, 2];
    let report = judged(chang_roberts(&ids, Variants::none()), &ids).run();
    holds(&report, "agreement");
    holds(&report, "validity");
    violated(&report, "progress", 8);
}

#[test]
fn hirschberg_sinclair_elects_the_largest() {
    judged(hirschberg_sinclair(&[2, 3, 1]).fifo(), &[2, 3, 1]).run().assert_holds();
}

fn bully(size: u32, switches: &[bully::Switch]) -> Among<Bully> {
    let plain = bully::Config::plain(size, TICKS_PER_UNIT);
    let variants =
        switches.iter().fold(Variants::none(), |variants, switch| variants.with(*switch));
    with::<Bully>(size, bully::Config { variants, ..plain }).detecting()
}

#[claims("7-B1")]
#[test]
fn b1_with_wrong_timeouts_and_no_terms_the_two_may_disagree_for_ever() {
    let check = bully(2, &[bully::Switch::NoTerms, bully::Switch::AcceptLower]);
    let check = check.initiators([ProcessId(0)]).in_the_end(Agreement::new());
    violated(&check.run(), "agreement", 5);
}

#[claims("7-B2")]
#[test]
fn b2_with_perfect_timeouts_crashes_alone_do_no_harm() {
    let check = bully(3, &[bully::Switch::NoTerms]).synchronous(0..=1).crashing(2);
    let check = check.initiators([ProcessId(0)]);
    let report = judged(check, &[1, 2, 3]).always(OneLeader::new(Scope::Overall)).run();
    report.assert_holds();
}

fn alarmed(size: u32, alarms: u32) -> Check<impl Election> {
    let check = bully(size, &[bully::Switch::NoTerms]).synchronous(0..=1);
    let ids: Vec<u32> = (1..=size).collect();
    judged(check.suspecting_falsely(alarms).initiators([ProcessId(0)]), &ids)
}

#[claims("7-B2")]
#[test]
fn b2_with_perfect_timeouts_false_alarms_do_no_harm() {
    alarmed(3, 1).run().assert_holds();
    alarmed(2, 2).run().assert_holds();
}

#[test]
#[ignore = "half a minute of two cores"]
fn b2_with_perfect_timeouts_two_false_alarms_do_no_harm_to_three() {
    alarmed(3, 2).run().assert_holds();
}

#[claims("7-B3")]
#[test]
fn b3_with_recovery_and_no_terms_the_two_disagree_for_ever() {
    let check = bully(2, &[bully::Switch::NoTerms, bully::Switch::AcceptLower]);
    let check = check.synchronous(0..=1).crashing(1).recovering(1).initiators([ProcessId(0)]);
    violated(&check.in_the_end(Agreement::new()).run(), "agreement", 7);
}

#[test]
fn terms_let_two_agree_in_the_end_whatever_the_timeouts() {
    let one = || bully(2, &[]).initiators([ProcessId(0)]).in_the_end(Agreement::new());
    let recovering = one().crashing(1).recovering(1).term_max_by(Algorithm::highest_term, 3);
    holds(&recovering.run(), "agreement");
    let alarmed = one().suspecting_falsely(1).crashing(1).term_max_by(Algorithm::highest_term, 3);
    let report = alarmed.run();
    holds(&report, "agreement");
    assert_eq!(report.bounds.term_max, Some(3), "a bound that cut something off is told");
}

#[test]
fn the_column_of_chang_and_roberts() {
    let ids = [3, 1, 2];
    let ring = || chang_roberts(&ids, Variants::none()).fifo();
    judged(ring().duplicating(1), &ids).run().assert_holds();
    // Wrong timeouts do nothing to an algorithm that has none.
    judged(ring().suspecting_falsely(1), &ids).run().assert_holds();
    // Nobody repairs the ring here, so whoever is down breaks it, before the start and later.
    for (check, steps) in [
        (ring().losing(1), 2),
        (ring().down([ProcessId(1)]), 1),
        (ring().crashing(1), 2),
        (ring().crashing(1).recovering(1), 3),
    ] {
        violated(&judged(check, &ids).run(), "progress", steps);
    }
}

fn hirschberg_sinclair(ids: &[u32]) -> Among<HirschbergSinclair> {
    let ranks = ranks(ids);
    let config = tenure_algorithms::election::hirschberg_sinclair::Config::of(ranks);
    with::<HirschbergSinclair>(ids.len() as u32, config)
}

/// In any order of delivery one of them starts, whichever it is; where all do there are five
/// million worlds.
#[test]
fn the_column_of_hirschberg_and_sinclair() {
    let ids = [3, 1, 2];
    let ring = || hirschberg_sinclair(&ids);
    for first in 0..3 {
        judged(ring().initiators([ProcessId(first)]), &ids).run().assert_holds();
    }
    judged(ring().fifo().duplicating(1), &ids).run().assert_holds();
    violated(&judged(ring().fifo().losing(1), &ids).run(), "progress", 2);
    violated(&judged(ring().fifo().crashing(1), &ids).run(), "progress", 2);
    violated(&judged(ring().fifo().down([ProcessId(1)]), &ids).run(), "progress", 1);
}

#[test]
#[ignore = "half a minute of two cores"]
fn hirschberg_and_sinclair_elect_in_any_order_of_delivery_where_all_start() {
    let ids = [3, 1, 2];
    judged(hirschberg_sinclair(&ids), &ids).run().assert_holds();
}
