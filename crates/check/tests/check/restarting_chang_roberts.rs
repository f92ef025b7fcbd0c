//! Tests of Chang–Roberts with an initiator that repeats its attempt, in every schedule and with
//! every loss of a message. A further test checks plain Chang–Roberts with a process that is down
//! from the start.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::election::restarting_chang_roberts::{Config, VariantId};
use tenure_algorithms::election::{ChangRoberts, RestartingChangRoberts, chang_roberts};
use tenure_core::monitors::{BestRankLeads, LeaderScope, OneLeader};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::violated;
use crate::elections::{ranks, with_properties};

const P2: [ProcessId; 1] = [ProcessId(1)];

fn config(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), TICKS_PER_TIME_UNIT)
}

/// Returns a check of a ring whose ranks are derived from `ids`. The search prunes every state in
/// which an initiator makes a third attempt to elect a leader.
fn ring(ids: &[u32]) -> ServiceCheck<RestartingChangRoberts> {
    with::<RestartingChangRoberts>(ids.len() as u32, config(ids)).initiators(P2).max_term(2)
}

#[test]
fn tolerates_loss_duplication_and_reordering() {
    let ids = [3, 1, 2];
    for check in [ring(&ids), ring(&ids).max_losses(1), ring(&ids).max_duplicates(1)] {
        with_properties(check, &ids)
            .always(OneLeader::new(LeaderScope::PerTerm))
            .run()
            .assert_holds();
    }
}

/// If the user of the leader starts another election, the leader informs this user again.
#[test]
fn informs_all_for_any_initiators() {
    for losses in [0, 1] {
        let check = with::<RestartingChangRoberts>(2, config(&[1, 2])).max_term(2);
        with_properties(check.max_losses(losses), &[1, 2]).run().assert_holds();
    }
}

#[test]
fn unnumbered_attempts_are_swallowed() {
    let ids = [3, 1, 2];
    let variants = Variants::none().with(VariantId::Unnumbered);
    let check = with::<RestartingChangRoberts>(3, Config { variants, ..config(&ids) });
    let check = check.initiators(P2).max_losses(1);
    let report = with_properties(check, &ids).run();
    assert!(report.counterexample("progress").is_some(), "{report}");
}

/// One process is down from the start. If the ring excludes this process, the live processes elect
/// a leader. If the ring contains this process, a live process waits forever.
#[test]
fn ring_of_survivors_needs_known_crashes() {
    let ids = [3, 1, 4, 2];
    let down = [ProcessId(2)];
    let config = chang_roberts::Config::with_ranks(ranks(&ids), Variants::none());
    let formed = chang_roberts::Config { absent: down.into_iter().collect(), ..config.clone() };
    let validity = || BestRankLeads::new(ranks(&ids).to_vec()).with_initially_down(&down);
    let check = |config| {
        let check = with::<ChangRoberts>(4, config).fifo().initially_down(down);
        check.always_and_at_end(validity()).check_progress().run()
    };
    check(formed).assert_holds();
    violated(&check(config), "progress", 1);
}
