//! A lock and an election side by side, as a node runs them: every schedule of the pair.

use tenure_algorithms::Variants;
use tenure_algorithms::compose::{Side, side};
use tenure_algorithms::election::{Bully, ChangRoberts, bully, chang_roberts};
use tenure_algorithms::mutex::{RicartAgrawala, TolerantRicartAgrawala, ricart_agrawala};
use tenure_check::{Check, Checkable, Report};
use tenure_core::monitors::{Agreement, MutualExclusion, OnElection, OnMutex};
use tenure_core::{Election, Mutex, ProcessId, TICKS_PER_UNIT};

use crate::among::with;
use crate::catalogue::violated;

fn bully(switches: &[bully::Switch]) -> bully::Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    bully::Config { variants, ..bully::Config::plain(2, TICKS_PER_UNIT) }
}

fn lock(switches: &[ricart_agrawala::Switch]) -> ricart_agrawala::Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    ricart_agrawala::Config { variants }
}

fn pair<M: Mutex, E: Election>(mutex: M::Config, election: E::Config) -> Check<Side<M, E>> {
    Check::with(2, side::Config { mutex, election }).initiators([ProcessId(0)])
}

fn judged<M: Mutex, E: Election>(check: Check<Side<M, E>>) -> Report {
    let check = check.always(OnMutex(MutualExclusion::new()));
    check.in_the_end(OnElection(Agreement::new())).run()
}

/// They share nothing, so each world of the one goes with each of the other.
#[test]
fn a_pair_has_as_many_worlds_as_its_parts_multiplied() {
    fn states<P: Checkable>(check: Check<P>) -> u64 {
        let report = check.run();
        report.assert_holds();
        report.states
    }
    let ring = || chang_roberts::Config::plain(2);
    let alone = with::<RicartAgrawala>(2, lock(&[])).always(MutualExclusion::new());
    let election = with::<ChangRoberts>(2, ring()).initiators([ProcessId(0)]);
    let (alone, election) = (states(alone), states(election.in_the_end(Agreement::new())));
    let both = judged(pair::<RicartAgrawala, ChangRoberts>(lock(&[]), ring()));
    both.assert_holds();
    assert_eq!(both.states, alone * election, "{alone} and {election}");
}

/// One detector speaks to both, and one crash hurts both.
#[test]
fn a_lock_beside_an_election_survives_a_crash_where_both_do() {
    let check = pair::<TolerantRicartAgrawala, Bully>((), bully(&[]));
    let check = check.synchronous(0..=1).detecting().crashing(1).progress();
    judged(check).assert_holds();
}

/// The negative controls: what is wrong with a part is found in the pair, after as many steps.
#[test]
fn a_mistake_of_either_is_found_in_the_pair_as_early_as_alone() {
    let strict = lock(&[ricart_agrawala::Switch::ClockOnlyStrict]);
    let ring = chang_roberts::Config::plain(2);
    let report = judged(pair::<RicartAgrawala, ChangRoberts>(strict, ring));
    violated(&report, "mutual-exclusion", 6);
    let credulous = bully(&[bully::Switch::NoTerms, bully::Switch::AcceptLower]);
    let report = judged(pair::<RicartAgrawala, Bully>(lock(&[]), credulous));
    violated(&report, "agreement", 5);
}
