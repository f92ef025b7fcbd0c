//! Tests of the elections of LeLann and Peterson on all rings of up to five processes. The checker
//! finds the same numbers of states, steps and messages as the independent models of
//! `tests/independent`.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::election::{
    DolevKlaweRodeh, LeLann, Peterson, dolev_klawe_rodeh, lelann, peterson,
};
use tenure_check::{Checkable, Judgement};
use tenure_core::ProcessId;
use tenure_core::monitors::{BestRankLeads, LeaderAgreement};

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::violates;
use crate::elections::ranks;
use crate::independent::searches::graphs::permutations;
use crate::independent::searches::search::Delivery::Fifo;
use crate::independent::searches::search::{Process, count, count_with_ends, extremes};
use crate::independent::searches::{lelann as lists, peterson as loops};
use crate::verdicts::{counts, messages};

/// Returns all rings of `size` processes. Each ring is the list of its ranks in ring order.
fn rings(size: usize) -> Vec<Vec<u32>> {
    let rank = |place: &usize| u32::try_from(*place + 1).expect("a small ring");
    permutations(size).iter().map(|ring| ring.iter().map(rank).collect()).collect()
}

/// Returns a check in which the users of `initiators` start one election each.
fn started<P: SumTypeMember<Sum: Checkable>>(
    ids: &[u32],
    initiators: &[usize],
    config: P::Config,
) -> ServiceCheck<P> {
    let initiators = initiators.iter().copied().map(ProcessId::from_index);
    let size = u32::try_from(ids.len()).expect("a small ring");
    let check = with::<P>(size, config).fifo().in_flight_per_link(16).initiators(initiators);
    check.configure(|config| config.model.has_single_election = true).check_progress()
}

/// Compares the checker with the independent model on one ring. Compares the numbers of messages,
/// and on rings of less than four processes also the numbers of states and steps. Returns the
/// number of messages, which is the same in all schedules.
fn compare<P: SumTypeMember<Sum: Checkable>, S: Process>(
    ids: &[u32],
    initiators: &[usize],
    config: &P::Config,
    sites: &[S],
) -> u64 {
    let check = || started::<P>(ids, initiators, config.clone());
    if ids.len() < 4 {
        assert_eq!(counts(check()), count(sites.to_vec(), Fifo), "{ids:?}");
    }
    let (least, greatest) = messages(check());
    assert_eq!((least, greatest), extremes(sites.to_vec(), Fifo), "{ids:?}");
    assert_eq!(least, greatest, "{ids:?}");
    least
}

/// Returns the processes whose users start an election. On a ring of two or three processes, these
/// are all processes. On a larger ring, it is only one process.
fn initiators(size: usize) -> Vec<usize> {
    (0..if size < 4 { size } else { 1 }).collect()
}

#[test]
#[ignore = "long: 7 s"]
fn lelann_matches_independent_model() {
    for size in 2..=5 {
        for ids in rings(size) {
            let starters = initiators(size);
            let config = lelann::Config::with_ranks(ranks(&ids), Variants::none());
            let sites = lists::sites(&ids, &starters);
            let found = compare::<LeLann, _>(&ids, &starters, &config, &sites);
            assert_eq!(found, (size * size) as u64, "{ids:?}");
        }
    }
}

#[test]
fn every_process_lists_all_in_the_model() {
    let all = vec![1, 2, 3];
    for ids in rings(3) {
        count_with_ends(lists::sites(&ids, &[0, 1, 2]), Fifo, |sites| {
            assert!(sites.iter().all(|site| site.decided().as_ref() == Some(&all)), "{ids:?}");
        });
    }
}

/// For Peterson's election on rings of 2 to 5 processes: the least and the greatest number of
/// messages.
const PETERSON: [(u64, u64); 4] = [(7, 7), (11, 11), (15, 20), (19, 26)];

#[test]
fn peterson_matches_independent_model() {
    for (size, expected) in (2..=5).zip(PETERSON) {
        let mut found = Vec::new();
        for ids in rings(size) {
            let starters = initiators(size);
            let config = peterson::Config::with_ranks(ranks(&ids), Variants::none());
            let sites = loops::sites(&ids, &starters);
            found.push(compare::<Peterson, _>(&ids, &starters, &config, &sites));
        }
        let extremes = (*found.iter().min().unwrap(), *found.iter().max().unwrap());
        assert_eq!(extremes, expected, "rings of {size}");
    }
}

#[test]
fn peterson_needs_fewer_messages_than_its_twin() {
    for ids in [2, 3, 4].into_iter().flat_map(rings) {
        let config = peterson::Config::with_ranks(ranks(&ids), Variants::none());
        let ours = messages(started::<Peterson>(&ids, &[0], config));
        let config = dolev_klawe_rodeh::Config::with_ranks(ranks(&ids));
        let twin = messages(started::<DolevKlaweRodeh>(&ids, &[0], config));
        assert!(ours < twin, "{ids:?}: {ours:?} and {twin:?}");
    }
}

/// Returns two judgements: whether the process with the largest rank leads, and whether the process
/// with the smallest rank leads.
fn choices(ids: &[u32], variants: Variants<lelann::VariantId>) -> [Judgement; 2] {
    let check = || {
        let config = lelann::Config::with_ranks(ranks(ids), variants);
        with::<LeLann>(3, config).fifo().always_and_at_end(LeaderAgreement::new()).check_progress()
    };
    let validity = || BestRankLeads::new(ranks(ids).to_vec());
    let largest = check().always_and_at_end(validity()).run();
    let smallest = check().always_and_at_end(validity().requiring_smallest_rank(true)).run();
    [largest.judgement_of("validity"), smallest.judgement_of("smallest-leads")]
}

#[test]
fn lelann_elects_largest_or_smallest_in_every_schedule() {
    let smallest = Variants::none().with(lelann::VariantId::Smallest);
    for ids in rings(3) {
        let [holds, violated] = [Judgement::Holds, Judgement::Violated];
        assert_eq!(choices(&ids, Variants::none()), [holds, violated], "{ids:?}");
        assert_eq!(choices(&ids, smallest), [violated, holds], "{ids:?}");
    }
}

#[test]
fn peterson_elects_largest_with_a_duplicate() {
    for ids in rings(3) {
        let config = peterson::Config::with_ranks(ranks(&ids), Variants::none());
        let check = with::<Peterson>(3, config).fifo().max_duplicates(1).initiators([ProcessId(0)]);
        let check = check.always_and_at_end(LeaderAgreement::new()).check_progress();
        check.always_and_at_end(BestRankLeads::new(ranks(&ids).to_vec())).run().assert_holds();
    }
}

#[test]
fn peterson_with_strict_comparison_waits_forever() {
    let variants = Variants::none().with(peterson::VariantId::Strict);
    let config = peterson::Config::with_ranks(ranks(&[1, 2, 3]), variants);
    violates(&started::<Peterson>(&[1, 2, 3], &[0], config).run(), "progress");
}
