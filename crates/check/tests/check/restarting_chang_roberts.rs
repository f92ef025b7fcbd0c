//! Chang–Roberts whose initiator starts again: every schedule, every loss; and rings of those who
//! had not failed before.

use tenure_algorithms::Variants;
use tenure_algorithms::election::restarting_chang_roberts::{Config, Switch};
use tenure_algorithms::election::{ChangRoberts, RestartingChangRoberts, chang_roberts};
use tenure_core::monitors::{OneLeader, Scope, Validity};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::among::{Among, with};
use crate::catalogue::violated;
use crate::elections::{judged, ranks};

const SECOND: [ProcessId; 1] = [ProcessId(1)];

fn config(ids: &[u32]) -> Config {
    Config::of(ranks(ids), TICKS_PER_UNIT)
}

/// Worlds beyond the second attempt are cut off.
fn ring(ids: &[u32]) -> Among<RestartingChangRoberts> {
    with::<RestartingChangRoberts>(ids.len() as u32, config(ids)).initiators(SECOND).term_max(2)
}

#[test]
fn whichever_message_is_lost_or_repeated_the_largest_leads_in_any_order_of_delivery() {
    let ids = [3, 1, 2];
    for check in [ring(&ids), ring(&ids).losing(1), ring(&ids).duplicating(1)] {
        judged(check, &ids).always(OneLeader::new(Scope::PerTerm)).run().assert_holds();
    }
}

/// Also who leads already, and is asked once more, is told again.
#[test]
fn whoever_starts_and_whenever_all_are_told() {
    for losses in [0, 1] {
        let check = with::<RestartingChangRoberts>(2, config(&[1, 2])).term_max(2);
        judged(check.losing(losses), &[1, 2]).run().assert_holds();
    }
}

#[test]
fn attempts_without_numbers_are_swallowed() {
    let ids = [3, 1, 2];
    let variants = Variants::none().with(Switch::Unnumbered);
    let check = with::<RestartingChangRoberts>(3, Config { variants, ..config(&ids) });
    let check = check.initiators(SECOND).losing(1);
    let report = judged(check, &ids).run();
    assert!(report.counterexample("progress").is_some(), "{report}");
}

/// The same crash before the start on a ring that knows of it, and on one that does not.
#[test]
fn a_ring_is_one_of_those_who_are_alive_if_they_know_it() {
    let ids = [3, 1, 4, 2];
    let down = [ProcessId(2)];
    let config = chang_roberts::Config::of(ranks(&ids), Variants::none());
    let formed = chang_roberts::Config { absent: down.into_iter().collect(), ..config.clone() };
    let validity = || Validity::new(ranks(&ids).to_vec()).without(&down);
    let check = |config| {
        let check = with::<ChangRoberts>(4, config).fifo().down(down);
        check.in_the_end(validity()).progress().run()
    };
    check(formed).assert_holds();
    violated(&check(config), "progress", 1);
}
