//! Tests of a process that acknowledges log entries to the leader and then loses these entries. The
//! leader stays the same.

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckReport, ViolationKind};
use tenure_core::{Agreement, Algorithm, Election, Mutex};

use crate::by_service::after;
use crate::catalogue::holds;

/// Steps before the search. P1 leads three processes and has committed an entry with P2. P2 crashes
/// and recovers. Then P1 appends another entry.
const BEFORE: &str = "fire p1 election; deliver p1→p2; deliver p2→p1; deliver p1→p2; \
                      deliver p2→p1; deliver p1→p2; deliver p2→p1; crash p2; recover p2; \
                      append p1 1.1 1";

fn report(variants: &[&str]) -> CheckReport {
    let variants = variants.iter().map(ToString::to_string).collect();
    let parameters = Parameters { variants, ..Parameters::with_defaults(2) };
    catalogue::visit("raft-log", &parameters, AfterLoss).expect("the variants are known")
}

/// Checks a log after the steps in [`BEFORE`], in which P2 crashes and recovers while P1 leads.
struct AfterLoss;

impl AlgorithmVisitor for AfterLoss {
    type Output = CheckReport;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> CheckReport {
        unreachable!("a log offers another service")
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> CheckReport {
        unreachable!("a log offers another service")
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> CheckReport {
        let service = P::card(&config, 2).service;
        let check = Check::<P>::with_protocol_config(2, config)
            .configure(|config| config.service = service);
        let check = check.request_limits([1, 0]).max_crashes(1).max_recoveries(1);
        after(check, BEFORE).in_flight_per_link(1).max_term(1).check_progress().run()
    }
}

#[test]
fn leader_relying_on_lost_entries_never_commits() {
    report(&[]).assert_holds();
    let waits = report(&["forgotten-log"]);
    let found = waits.counterexample("progress").unwrap_or_else(|| panic!("{waits}"));
    assert_eq!(found.kind, ViolationKind::Starvation, "{found}");
}

#[test]
fn process_detecting_lost_entries_leaves_and_leader_responds() {
    report(&["noticing"]).assert_holds();
    holds(&report(&["noticing", "forgotten-log"]), "progress");
}
