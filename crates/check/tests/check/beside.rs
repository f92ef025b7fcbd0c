//! Tests of a lock and an election that run at the same time on each process, as in a node. The
//! tests explore every schedule of the lock and the election together.

use tenure_algorithms::catalogue::SumMember;
use tenure_algorithms::compose::{SideBySide, side_by_side};
use tenure_algorithms::election::{Bully, ChangRoberts, bully, chang_roberts};
use tenure_algorithms::mutex::{RicartAgrawala, TolerantRicartAgrawala, ricart_agrawala};
use tenure_check::{Check, Report};
use tenure_core::monitors::{LeaderAgreement, MutualExclusion, OnElection, OnMutex};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::by_service::{variants, with};
use crate::catalogue::violated;
use crate::verdicts::states;

fn bully(switches: &[bully::VariantId]) -> bully::Config {
    bully::Config { variants: variants(switches), ..bully::Config::plain(2, TICKS_PER_UNIT) }
}

fn lock(switches: &[ricart_agrawala::VariantId]) -> ricart_agrawala::Config {
    variants(switches)
}

type Pair = SideBySide<<RicartAgrawala as SumMember>::Sum, <Bully as SumMember>::Sum>;

fn pair<M, E>(mutex: M::Config, election: E::Config) -> Check<Pair>
where
    M: SumMember<Sum = <RicartAgrawala as SumMember>::Sum>,
    E: SumMember<Sum = <Bully as SumMember>::Sum>,
{
    let (mutex, election) = (M::sum_config(mutex), E::sum_config(election));
    Check::with(2, side_by_side::Config { mutex, election }).initiators([ProcessId(0)])
}

fn with_properties(check: Check<Pair>) -> Report {
    let check = check.always(OnMutex(MutualExclusion::new()));
    check.always_and_at_end(OnElection(LeaderAgreement::new())).run()
}

/// The lock and the election share nothing, so every state of the lock occurs with every state of
/// the election.
#[test]
fn pair_has_product_of_state_counts() {
    let ring = || chang_roberts::Config::plain(2);
    let alone = with::<RicartAgrawala>(2, lock(&[])).always(MutualExclusion::new());
    let election = with::<ChangRoberts>(2, ring()).initiators([ProcessId(0)]);
    let (alone, election) =
        (states(alone), states(election.always_and_at_end(LeaderAgreement::new())));
    let both = with_properties(pair::<RicartAgrawala, ChangRoberts>(lock(&[]), ring()));
    both.assert_holds();
    assert_eq!(both.states, alone * election, "{alone} and {election}");
}

/// A lock and an election run at the same time on each process. Each of them alone survives a
/// crash. The combination survives a crash, too, although its two parts share one failure detector
/// and crash at the same time.
#[test]
fn pair_survives_crash_if_both_parts_do() {
    let check = pair::<TolerantRicartAgrawala, Bully>((), bully(&[]));
    let check = check.synchronous(0..=1).detecting_failures().crashing(1).requiring_progress();
    with_properties(check).assert_holds();
}

/// A pair of a lock and an election contains a known mistake in one part. The search finds it after
/// as many steps as in a check of this part alone.
#[test]
fn mistake_in_one_part_is_found_equally_early() {
    let strict = lock(&[ricart_agrawala::VariantId::ClockOnlyStrict]);
    let ring = chang_roberts::Config::plain(2);
    let report = with_properties(pair::<RicartAgrawala, ChangRoberts>(strict, ring));
    violated(&report, "mutual-exclusion", 6);
    let credulous = bully(&[bully::VariantId::NoTerms, bully::VariantId::AcceptLower]);
    let report = with_properties(pair::<RicartAgrawala, Bully>(lock(&[]), credulous));
    violated(&report, "agreement", 5);
}
