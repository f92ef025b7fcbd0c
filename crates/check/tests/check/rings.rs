//! Tests of elections on rings. Some tests explore every schedule of two and three processes. Other
//! tests check the columns of the matrix of elections and faults in the checklist (5.7).
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::compose::{CoordinatedLock, MutexOnly};
use tenure_algorithms::election::{
    ChangRoberts, DolevKlaweRodeh, Franklin, ItaiRodeh, LeLann, dolev_klawe_rodeh, franklin, lelann,
};
use tenure_check::Check;
use tenure_core::monitors::{Fencing, LeaderAgreement, MutualExclusion};
use tenure_core::{ChannelOrder, Election, Mutex, ProcessId};

use crate::by_service::{ServiceCheck, of, over_channel, with};
use crate::catalogue::{holds, violated};
use crate::elections::{self, hirschberg_sinclair, ranks, with_properties};
use crate::verdicts;

/// Ranks in the order of the ring: the only order of two ranks, and the two orders of three ranks.
/// Every other order of three ranks is a rotation of one of these orders.
const RINGS: [&[u32]; 3] = [&[1, 2], &[1, 2, 3], &[3, 2, 1]];

fn lelann_config(ids: &[u32]) -> lelann::Config {
    lelann::Config::with_ranks(ranks(ids), Variants::none())
}

fn lelann(ids: &[u32]) -> ServiceCheck<LeLann> {
    with::<LeLann>(ids.len() as u32, lelann_config(ids)).fifo()
}

fn chang_roberts(ids: &[u32]) -> ServiceCheck<ChangRoberts> {
    elections::chang_roberts(ids, Variants::none()).fifo()
}

fn dolev_klawe_rodeh_config(ids: &[u32]) -> dolev_klawe_rodeh::Config {
    dolev_klawe_rodeh::Config::with_ranks(ranks(ids))
}

fn dolev_klawe_rodeh(ids: &[u32]) -> ServiceCheck<DolevKlaweRodeh> {
    with::<DolevKlaweRodeh>(ids.len() as u32, dolev_klawe_rodeh_config(ids)).fifo()
}

fn franklin_config(ids: &[u32]) -> franklin::Config {
    franklin::Config::with_ranks(ranks(ids))
}

fn franklin(ids: &[u32]) -> ServiceCheck<Franklin> {
    with::<Franklin>(ids.len() as u32, franklin_config(ids))
}

/// Returns a check of a ring of `size` processes. The search prunes states in which a process has
/// drawn a random rank for the third time.
fn itai_rodeh(size: u32) -> ServiceCheck<ItaiRodeh> {
    of::<ItaiRodeh>(size).max_term(2)
}

fn agreed(check: ServiceCheck<ItaiRodeh>) -> ServiceCheck<ItaiRodeh> {
    check.always_and_at_end(LeaderAgreement::new()).check_progress()
}

/// Returns the number of states. Asserts that the election is correct in all of them.
fn states<P: Election>(check: Check<P>, ids: &[u32]) -> u64 {
    verdicts::states(with_properties(check, ids))
}

#[test]
fn elects_largest_of_two_and_three() {
    assert_eq!(RINGS.map(|ids| states(lelann(ids), ids)), [33, 550, 550]);
    assert_eq!(RINGS.map(|ids| states(dolev_klawe_rodeh(ids), ids)), [54, 476, 476]);
    assert_eq!(RINGS.map(|ids| states(franklin(ids).fifo(), ids)), [86, 12_128, 12_128]);
    assert_eq!(states(franklin(&[1, 2]), &[1, 2]), 1074);
    assert_eq!(states(franklin(&THREE), &THREE), 282_127);
}

#[test]
fn lelann_forwarding_first_decides_wrongly() {
    let variants = Variants::none().with(lelann::VariantId::ForwardFirst);
    let config = lelann::Config { variants, ..lelann_config(&[1, 2, 3]) };
    let check = with::<LeLann>(3, config).fifo().initiators([ProcessId(0)]);
    let report = with_properties(check, &[1, 2, 3]).run();
    violated(&report, "agreement", 8);
    violated(&report, "validity", 4);
}

#[test]
fn itai_rodeh_elects_one_for_all_random_choices() {
    let states = |check: ServiceCheck<ItaiRodeh>| {
        let report = agreed(check).run();
        report.assert_holds();
        assert_eq!(report.bounds.term_max, Some(2), "some run ties twice");
        report.states
    };
    assert_eq!((states(itai_rodeh(2)), states(itai_rodeh(2).fifo())), (155, 81));
    assert_eq!((states(itai_rodeh(3)), states(itai_rodeh(3).fifo())), (14896, 2629));
}

/// Entry of the election fault matrix: how one fault affects the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    Stuck,
    Unsafe,
}

use Outcome::{Fine, Stuck, Unsafe};

fn cell<P: Election>(check: Check<P>, ids: &[u32]) -> Outcome {
    classified(with_properties(check, ids))
}

pub(crate) fn classified<P: Election>(check: Check<P>) -> Outcome {
    let report = check.run();
    let violated = |property| report.counterexample(property).is_some();
    if violated("agreement") || violated("validity") {
        return Unsafe;
    }
    holds(&report, "agreement");
    if violated("progress") { Stuck } else { Fine }
}

const THREE: [u32; 3] = [3, 1, 2];

/// Two kinds of elections tolerate links that reorder messages. The bidirectional algorithms number
/// their phases, and the algorithm of Itai and Rodeh numbers its rounds. The other algorithms need
/// FIFO links.
#[test]
fn reordering_breaks_algorithms_that_need_fifo() {
    let reordered = ChannelOrder::Reordered;
    assert_eq!(cell(lelann(&THREE).channel_order(reordered), &THREE), Unsafe);
    assert_eq!(cell(chang_roberts(&THREE).channel_order(reordered), &THREE), Stuck);
    assert_eq!(cell(hirschberg_sinclair(&[1, 2]), &[1, 2]), Fine);
    assert_eq!(cell(dolev_klawe_rodeh(&THREE).channel_order(reordered), &THREE), Stuck);
    assert_eq!(cell(franklin(&THREE), &THREE), Fine);
    assert_eq!(classified(agreed(itai_rodeh(3))), Fine);
}

#[test]
fn lost_message_leaves_process_undecided() {
    assert_eq!(cell(lelann(&THREE).max_losses(1), &THREE), Unsafe);
    assert_eq!(cell(chang_roberts(&THREE).max_losses(1), &THREE), Stuck);
    assert_eq!(cell(hirschberg_sinclair(&THREE).fifo().max_losses(1), &THREE), Stuck);
    assert_eq!(cell(dolev_klawe_rodeh(&THREE).max_losses(1), &THREE), Stuck);
    assert_eq!(cell(franklin(&THREE).fifo().max_losses(1), &THREE), Stuck);
    // If both processes start an election, two leaders may be elected, and one process may not
    // learn of the second leader.
    assert_eq!(classified(agreed(itai_rodeh(2).max_losses(1))), Unsafe);
    assert_eq!(classified(agreed(itai_rodeh(2).max_losses(1).initiators([ProcessId(0)]))), Stuck);
}

#[test]
fn tolerates_duplication() {
    for ids in [&[1, 2][..], &THREE] {
        assert_eq!(cell(lelann(ids).max_duplicates(1), ids), Fine);
        assert_eq!(cell(chang_roberts(ids).max_duplicates(1), ids), Fine);
        assert_eq!(cell(dolev_klawe_rodeh(ids).max_duplicates(1), ids), Fine);
        assert_eq!(cell(franklin(ids).fifo().max_duplicates(1), ids), Fine);
    }
    assert_eq!(cell(hirschberg_sinclair(&[1, 2]).max_duplicates(1), &[1, 2]), Fine);
    assert_eq!(classified(agreed(itai_rodeh(2).max_duplicates(1))), Fine);
    assert_eq!(classified(agreed(itai_rodeh(3).fifo().max_duplicates(1))), Fine);
}

/// Hirschberg–Sinclair tolerates a duplicate on links that reorder messages. Each search has one
/// initiator, because two initiators would make more than a million states.
#[test]
fn hirschberg_sinclair_tolerates_duplication_with_reordering() {
    let states = [0, 1, 2].map(|first| {
        let check = hirschberg_sinclair(&THREE).max_duplicates(1).initiators([ProcessId(first)]);
        states(check, &THREE)
    });
    assert_eq!(states, [1_009, 12_846, 3_601]);
}

/// If a process of the ring crashes, another process waits forever.
#[test]
fn crash_breaks_the_ring() {
    fn breaks<P: Election>(check: Check<P>) {
        violated(&check.max_crashes(1).check_progress().run(), "progress", 2);
    }
    breaks(lelann(&THREE));
    breaks(chang_roberts(&THREE));
    breaks(hirschberg_sinclair(&[1, 2]));
    breaks(dolev_klawe_rodeh(&THREE));
    breaks(franklin(&THREE));
    breaks(itai_rodeh(2));
}

#[test]
fn survivors_elect_on_initially_repaired_ring() {
    let rest = &THREE[..2];
    assert_eq!(cell(lelann(rest), rest), Fine);
    assert_eq!(cell(chang_roberts(rest), rest), Fine);
    assert_eq!(cell(hirschberg_sinclair(rest), rest), Fine);
    assert_eq!(cell(dolev_klawe_rodeh(rest), rest), Fine);
    assert_eq!(cell(franklin(rest), rest), Fine);
    assert_eq!(classified(agreed(itai_rodeh(2))), Fine);
}

#[test]
fn reliable_channel_hides_loss_duplication_and_reordering() {
    fn faulty<P: Election>(check: Check<P>) -> Check<P> {
        check.initiators([ProcessId(0)]).max_losses(1).max_duplicates(1)
    }
    let ids = [1, 2];
    let lelann = faulty(over_channel::<LeLann>(lelann_config(&ids)));
    with_properties(lelann, &ids).run().assert_holds();
    let dolev = faulty(over_channel::<DolevKlaweRodeh>(dolev_klawe_rodeh_config(&ids)));
    with_properties(dolev, &ids).run().assert_holds();
    let franklin = faulty(over_channel::<Franklin>(franklin_config(&ids))).fifo();
    with_properties(franklin, &ids).run().assert_holds();
    let lots = faulty(over_channel::<ItaiRodeh>(())).fifo().max_term(2);
    lots.always_and_at_end(LeaderAgreement::new()).check_progress().run().assert_holds();
}

type AtLeader<E> = MutexOnly<CoordinatedLock<E>>;

/// Returns the number of states of a check in which the elected leader manages a lock. Two
/// processes enter once each.
fn states_at_the_leader<P: Mutex>(check: Check<P>) -> u64 {
    let safe = check.fifo().always(MutualExclusion::new()).always(Fencing::new());
    verdicts::states(safe.check_progress())
}

#[test]
fn lock_at_ring_leader_is_safe_and_live() {
    let ids = [1, 2];
    assert_eq!(states_at_the_leader(with::<AtLeader<LeLann>>(2, lelann_config(&ids).into())), 46);
    let dolev = with::<AtLeader<DolevKlaweRodeh>>(2, dolev_klawe_rodeh_config(&ids).into());
    assert_eq!(states_at_the_leader(dolev), 60);
    let franklin = with::<AtLeader<Franklin>>(2, franklin_config(&ids).into());
    assert_eq!(states_at_the_leader(franklin), 85);
    assert_eq!(states_at_the_leader(with::<AtLeader<ItaiRodeh>>(2, ().into()).max_term(2)), 105);
}
