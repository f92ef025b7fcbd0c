//! Checks of a lock that is built from elections, and of an election that is built from a lock, in
//! all schedules.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_algorithms::mutex::{Central, NishioLiManning, RicartAgrawala, ricart_agrawala};
use tenure_algorithms::reduction::ElectionFromMutex;
use tenure_check::{Check, CheckReport, Judgement};
use tenure_core::monitors::{self, BestRankLeads, LeaderScope, OneLeader};
use tenure_core::{Agreement, Algorithm, CrashModel, Election, Mutex, Rank};

use crate::by_service::{of, with};
use crate::catalogue::{holds, violates};
use crate::survival::survives;

fn elects<P: Election>(check: Check<P>, size: u32) -> CheckReport {
    let ranks: Vec<Rank> = (1..=size).map(Rank::from_id).collect();
    check
        .always_and_at_end(monitors::LeaderAgreement::new())
        .always(OneLeader::new(LeaderScope::Overall))
        .always_and_at_end(BestRankLeads::new(ranks))
        .check_progress()
        .run()
}

#[test]
fn election_by_lock_elects_first_entrant() {
    for size in [2, 3] {
        let central = of::<ElectionFromMutex<Central>>(size);
        let broadcast =
            with::<ElectionFromMutex<RicartAgrawala>>(size, ricart_agrawala::Config::default());
        for report in [elects(central, size), elects(broadcast, size)] {
            for property in ["agreement", "one-leader-at-a-time", "progress"] {
                holds(&report, property);
            }
            // The first process that enters leads, not the one with the largest rank.
            assert_eq!(report.judgement_of("validity"), Judgement::Violated);
        }
    }
}

#[test]
fn election_by_wrong_lock_is_wrong() {
    let mistake = ricart_agrawala::VariantId::ClockOnlyStrict;
    let config = Variants::none().with(mistake);
    let report = elects(with::<ElectionFromMutex<RicartAgrawala>>(2, config), 2);
    violates(&report, "one-leader-at-a-time");
}

/// A follower that has learned the leader does not learn that the leader has crashed. So the
/// election tolerates no crash, even if its lock does.
#[test]
fn election_by_tolerant_lock_keeps_crashed_leader() {
    let check = of::<ElectionFromMutex<NishioLiManning>>(2).detecting_failures().max_crashes(1);
    violates(&check.always_and_at_end(monitors::LeaderAgreement::new()).run(), "agreement");
    let parameters = Parameters::with_defaults(3);
    let name = "election-from-mutex:nishio-li-manning";
    let faults = |name| catalogue::card(name, &parameters).expect("a known name").faults;
    assert_eq!(faults("nishio-li-manning").crashes, CrashModel::Stop);
    assert_eq!(faults(name).crashes, CrashModel::None);
    assert_eq!(faults("election-from-mutex:majority").crashes, CrashModel::None);
}

/// Visitor of the catalogue that checks a lock. The field is a list with the number of entries of
/// each process.
struct Contests(&'static [u32]);

impl AlgorithmVisitor for Contests {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) {
        let check = Check::<P>::with_protocol_config(self.0.len() as u32, config);
        survives(check.fifo().request_limits(self.0));
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) {
        unreachable!("the reduction is a lock")
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) {
        unreachable!("the reduction is a lock")
    }
}

#[test]
fn lock_by_election_is_safe_and_live() {
    for entries in [&[2, 2][..], &[1, 1, 1]] {
        let parameters = Parameters::with_defaults(entries.len() as u32);
        let contests = Contests(entries);
        catalogue::visit("mutex-from-election:chang-roberts", &parameters, contests)
            .expect("the catalogue contains the reduction");
    }
}
