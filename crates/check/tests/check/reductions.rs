//! A lock made of elections, and an election made of a lock, in every schedule.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};
use tenure_algorithms::mutex::{Central, RicartAgrawala, ricart_agrawala};
use tenure_algorithms::reduction::mutex_from_election;
use tenure_algorithms::reduction::{ElectionFromMutex, MutexFromElection};
use tenure_check::{Check, Judgement, Report};
use tenure_core::monitors::{Agreement, OneLeader, Scope, Validity};
use tenure_core::{Election, Rank};

use crate::by_service::{of, with};
use crate::catalogue::{holds, violates};
use crate::survival::survives;

fn elects<P: Election>(check: Check<P>, size: u32) -> Report {
    let ranks: Vec<Rank> = (1..=size).map(Rank::of_id).collect();
    check
        .always_and_at_end(Agreement::new())
        .always(OneLeader::new(Scope::Overall))
        .always_and_at_end(Validity::new(ranks))
        .progress()
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
    let mistake = ricart_agrawala::Switch::ClockOnlyStrict;
    let config = Variants::none().with(mistake);
    let report = elects(with::<ElectionFromMutex<RicartAgrawala>>(2, config), 2);
    violates(&report, "one-leader-at-a-time");
}

fn contests<const N: usize>(entries: [u32; N]) -> Check<MutexFromElection<ChangRoberts>> {
    let size = N as u32;
    let ranks: Arc<[Rank]> = (1..=size).map(Rank::of_id).collect();
    let election = chang_roberts::Config::of(ranks, Variants::none());
    let config = mutex_from_election::Config { election, variants: Variants::none() };
    Check::with(size, config).fifo().entries(entries)
}

#[test]
fn lock_by_election_is_safe_and_live() {
    survives(contests([2, 2]));
    survives(contests([1, 1, 1]));
}
