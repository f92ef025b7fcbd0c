//! Compares the checker with independent searches that share no code with it. The checker and an
//! independent search must find the same numbers of states and steps. `tests/independent/README.md`
//! defines these numbers.

#[path = "../../../../tests/independent/mod.rs"]
pub(crate) mod searches;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Bully, ChangRoberts, bully as garcia, chang_roberts as ring};
use tenure_algorithms::mutex::{
    Lamport, Maekawa, NaimiTrehel, Raymond, RicartAgrawala, SuzukiKasami, TokenRing,
    maekawa as votes, raymond as tree_of_tokens, ricart_agrawala as ra,
};
use tenure_check::Check;
use tenure_core::monitors::{LeaderAgreement, MutualExclusion};
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{Mutex, ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, of, with};
use crate::elections::ranks;
use crate::verdicts::counts;
use searches::search::Delivery::{Fifo, Unordered};
use searches::search::{Process, count};
use searches::{
    bully, chang_roberts, lamport, maekawa, naimi_trehel, raymond, ricart_agrawala, suzuki_kasami,
    token_ring,
};

/// Workloads. Each workload contains the number of entries of each user, indexed by user.
const ENTRIES: [&[u32]; 4] = [&[1, 1], &[2, 2], &[1, 1, 1], &[2, 1, 1]];

fn checked<P: Mutex>(check: Check<P>, entries: &[u32]) -> (u64, u64) {
    counts(check.request_limits(entries).always(MutualExclusion::new()))
}

fn size(entries: &[u32]) -> u32 {
    entries.len() as u32
}

/// For each workload, compares two searches of one lock on reordering links: the checker's search
/// and the search of the independent model. Both must find the same numbers of states and steps.
fn compare<P: Mutex, S: Process>(
    name: &str,
    check: impl Fn(u32) -> Check<P>,
    sites: impl Fn(&[u32]) -> Vec<S>,
) {
    for entries in ENTRIES {
        let theirs = count(sites(entries), Unordered);
        assert_eq!(checked(check(size(entries)), entries), theirs, "{name}, entries {entries:?}");
    }
}

#[test]
fn token_algorithms_match_independent_state_counts() {
    compare("suzuki-kasami", of::<SuzukiKasami>, suzuki_kasami::sites);
    compare("token-ring", of::<TokenRing>, token_ring::sites);
    compare("naimi-trehel", of::<NaimiTrehel>, naimi_trehel::sites);
    let raymond_on = |shape| {
        move |size| with::<Raymond>(size, tree_of_tokens::Config::with_tree_shape(shape, size))
    };
    compare("raymond, star", raymond_on(TreeShape::Star), |entries| raymond::sites(entries, |_| 0));
    compare("raymond, path", raymond_on(TreeShape::Path), |entries| {
        raymond::sites(entries, |me| me - 1)
    });
}

#[test]
fn ricart_agrawala_matches_independent_state_counts() {
    let reference = Variants::none().with(ra::VariantId::Reference);
    let check = |size| with::<RicartAgrawala>(size, reference);
    compare("ricart-agrawala", check, ricart_agrawala::sites);
    let theirs = count(ricart_agrawala::sites(&[2, 2, 2]), Fifo);
    assert_eq!(checked(check(3).fifo(), &[2, 2, 2]), theirs);
}

#[test]
fn lamport_matches_independent_state_counts() {
    for entries in [&[1, 1][..], &[2, 2], &[3, 2], &[1, 1, 0], &[2, 1, 0]] {
        let theirs = count(lamport::sites(entries), Fifo);
        let check = of::<Lamport>(size(entries)).fifo();
        assert_eq!(checked(check, entries), theirs, "entries {entries:?}");
    }
}

#[test]
#[ignore = "takes some seconds: 167 334 full states"]
fn lamport_of_three_matches_independent_state_counts() {
    let theirs = count(lamport::sites(&[1, 1, 1]), Fifo);
    assert_eq!(checked(of::<Lamport>(3).fifo(), &[1, 1, 1]), theirs);
}

#[test]
fn chang_roberts_matches_independent_state_counts() {
    for ids in [&[1, 2][..], &[1, 2, 3], &[3, 2, 1], &[2, 4, 1, 3]] {
        let config = ring::Config::with_ranks(ranks(ids), Variants::none());
        let check = with::<ChangRoberts>(size(ids), config).fifo();
        let ours = counts(check.always_and_at_end(LeaderAgreement::new()).check_progress());
        assert_eq!(ours, count(chang_roberts::sites(ids), Fifo), "ring {ids:?}");
    }
}

/// Creates a check of Maekawa's lock. Also returns the quorums of the lock as lists, for the
/// independent model.
fn maekawa_with_lists(
    kind: QuorumKind,
    size: u32,
    variants: Variants<votes::VariantId>,
) -> (ServiceCheck<Maekawa>, QuorumLists) {
    let plain = votes::Config::with_quorum_kind(kind, size).expect("such quorums exist");
    let of = |at| plain.quorums.quorum(ProcessId(at)).iter().map(ProcessId::index).collect();
    let lists = (0..size).map(of).collect();
    (with::<Maekawa>(size, votes::Config { variants, ..plain }).fifo(), lists)
}

/// Quorum of each process, indexed by process. A quorum is a list of process indices.
type QuorumLists = Vec<Vec<usize>>;

#[test]
fn maekawa_matches_independent_state_counts() {
    for (kind, entries) in [
        (QuorumKind::Grid, &[2, 2][..]),
        (QuorumKind::Pairs, &[1, 1, 1]),
        (QuorumKind::Grid, &[1, 1, 0]),
        (QuorumKind::Majority, &[1, 1, 0]),
    ] {
        let (check, quorums) = maekawa_with_lists(kind, size(entries), Variants::none());
        let theirs = count(maekawa::sites(entries, &quorums), Fifo);
        assert_eq!(checked(check, entries), theirs, "{kind:?}, entries {entries:?}");
    }
    // Negative control: with this variant, no process learns that its request failed.
    let basic = Variants::none().with(votes::VariantId::Basic);
    let (check, quorums) = maekawa_with_lists(QuorumKind::Grid, 2, basic);
    assert_ne!(checked(check, &[2, 2]), count(maekawa::sites(&[2, 2], &quorums), Fifo));
}

#[test]
fn bully_matches_independent_state_counts() {
    for (size, max, order) in
        [(2, 2, Unordered), (2, 2, Fifo), (2, 3, Unordered), (3, 1, Unordered), (3, 1, Fifo)]
    {
        let config = garcia::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
        let check =
            with::<Bully>(size, config).in_flight_per_link(64).max_term(max).check_progress();
        let ours = counts(if order == Fifo { check.fifo() } else { check });
        let theirs = count(bully::sites(size as usize, max), order);
        assert_eq!(ours, theirs, "{size}, numbers up to {max}, {order:?}");
    }
}

/// If an independent model omits a rule of the paper, the model and the checker have different
/// numbers of states.
#[test]
fn omitted_rule_changes_state_count() {
    let unmarked = Variants::none().with(ring::VariantId::UnmarkedForward);
    let config = ring::Config::with_ranks(ranks(&[1, 2, 3]), unmarked);
    let check = with::<ChangRoberts>(3, config).fifo();
    let ours = counts(check.always_and_at_end(LeaderAgreement::new()).check_progress());
    assert_ne!(ours, count(chang_roberts::sites(&[1, 2, 3]), Fifo));
}
