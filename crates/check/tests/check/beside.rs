//! Tests of a lock and an election that run at the same time on each process, as in a node. The
//! tests explore every schedule of the lock and the election together.

use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::compose::{SideBySide, side_by_side};
use tenure_algorithms::election::{Bully, ChangRoberts, bully, chang_roberts};
use tenure_algorithms::mutex::{FaultTolerantRicartAgrawala, RicartAgrawala, ricart_agrawala};
use tenure_check::{Check, CheckReport};
use tenure_core::monitors::{
    ElectionProjection, LeaderAgreement, MutexProjection, MutualExclusion,
};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{variants, with};
use crate::catalogue::violated;
use crate::verdicts::states;

fn bully(switches: &[bully::VariantId]) -> bully::Config {
    bully::Config {
        variants: variants(switches),
        ..bully::Config::with_defaults(2, TICKS_PER_TIME_UNIT)
    }
}

fn lock(switches: &[ricart_agrawala::VariantId]) -> ricart_agrawala::Config {
    variants(switches)
}

type Pair = SideBySide<<RicartAgrawala as SumTypeMember>::Sum, <Bully as SumTypeMember>::Sum>;

fn pair<M, E>(mutex: M::Config, election: E::Config) -> Check<Pair>
where
    M: SumTypeMember<Sum = <RicartAgrawala as SumTypeMember>::Sum>,
    E: SumTypeMember<Sum = <Bully as SumTypeMember>::Sum>,
{
    let (mutex, election) = (M::to_sum_type_config(mutex), E::to_sum_type_config(election));
    Check::with_protocol_config(2, side_by_side::Config { mutex, election })
        .initiators([ProcessId(0)])
}

fn with_properties(check: Check<Pair>) -> CheckReport {
    let check = check.always(MutexProjection(MutualExclusion::new()));
    check.always_and_at_end(ElectionProjection(LeaderAgreement::new())).run()
}

/// The lock and the election share nothing, so every state of the lock occurs with every state of
/// the election.
#[test]
fn pair_has_product_of_state_counts() {
    let ring = || chang_roberts::Config::with_defaults(2);
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
    let check = pair::<FaultTolerantRicartAgrawala, Bully>((), bully(&[]));
    let check = check.synchronous(0..=1).detecting_failures().max_crashes(1).check_progress();
    with_properties(check).assert_holds();
}

/// A pair of a lock and an election contains a known mistake in one part. The search finds it after
/// as many steps as in a check of this part alone.
#[test]
fn mistake_in_one_part_is_found_equally_early() {
    let strict = lock(&[ricart_agrawala::VariantId::ClockOnlyStrict]);
    let ring = chang_roberts::Config::with_defaults(2);
    let report = with_properties(pair::<RicartAgrawala, ChangRoberts>(strict, ring));
    violated(&report, "mutual-exclusion", 6);
    let credulous = bully(&[bully::VariantId::NoTerms, bully::VariantId::AcceptLower]);
    let report = with_properties(pair::<RicartAgrawala, Bully>(lock(&[]), credulous));
    violated(&report, "agreement", 5);
}
