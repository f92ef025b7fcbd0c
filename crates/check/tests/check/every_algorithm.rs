//! Checks all algorithms of the catalogue in three scopes, under the assumptions that each
//! algorithm declares. The scopes are two processes, three processes, and two processes over the
//! reliable channel with one loss and one duplicate.
//!
//! The expected numbers of states are in the file `states` next to the golden runs of the
//! algorithm. A changed number means that the algorithm has changed. `TENURE_GOLDEN=rewrite`
//! updates the lines of the tests that run. With `--include-ignored`, it updates all lines.
//!
//! Some of these numbers have independent confirmation in `tests/independent`. This checker
//! computed the others.

use std::fmt::Write;
use std::{env, fs};

use tenure_algorithms::catalogue::{
    self, AGREEMENTS, AlgorithmVisitor, ELECTIONS, MUTEXES, Parameters,
};
use tenure_check::{Check, CheckReport, Checkable, Judgement};
use tenure_core::monitors::{
    AgreementMonitor, BestRankLeads, Fencing, LeaderAgreement, LocalMutualExclusion,
    MutualExclusion, OneLeaderPerGroup,
};
use tenure_core::{
    Algorithm, Card, ChannelOrder, DetectorClass, Election, Mutex, ProcessId, Property, Service,
    Timing,
};

/// Upper bound on the number of states, for searches that would not end or would take too long. For
/// instance, if a token circulates forever over the reliable channel, the sequence numbers of the
/// channel grow without end.
const MAX_STATES: u64 = 100_000;

/// Scope of a search. The file `states` of an algorithm has one line for each scope.
///
/// In the first scope, there are two processes. Each process enters a lock twice, or starts one
/// election. In the second scope, there are three processes. Each process enters once, or starts
/// one election. In the third scope, two processes communicate over the reliable channel. Each
/// process enters once, but only one process starts an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Two,
    Three,
    OverTheChannel,
}

use Scope::{OverTheChannel, Three, Two};

#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    scope: Scope,
    /// True if one message may be lost and one may be duplicated.
    faulty: bool,
}

impl Case {
    fn run(self) -> CheckReport {
        let channel = if self.scope == OverTheChannel { "fifo:" } else { "" };
        let parameters =
            Parameters { sequence_number_modulus: 1, ..Parameters::with_defaults(self.size()) };
        catalogue::visit(&format!("{channel}{}", self.name), &parameters, self)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn size(self) -> u32 {
        if self.scope == Three { 3 } else { 2 }
    }

    /// Returns true if links must be FIFO, because a search with reordering links would take
    /// minutes.
    fn needs_fifo(self) -> bool {
        match self.scope {
            Two => ["edge-chasing", "central-detection"].contains(&self.name),
            Three => {
                let slow = [
                    "hirschberg-sinclair",
                    "franklin",
                    "bully",
                    "tree-election",
                    "flooding-election",
                    "central-detection",
                ];
                slow.contains(&self.name)
            }
            OverTheChannel => {
                let slow = [
                    "lamport",
                    "maekawa",
                    "majority",
                    "edge-chasing",
                    "hirschberg-sinclair",
                    "franklin",
                    "central-detection",
                ];
                slow.contains(&self.name)
            }
        }
    }

    /// Returns the bound on terms if the terms or rounds of the algorithm grow without end.
    /// Otherwise, returns `None`.
    fn term_max(self) -> Option<u64> {
        let whole = self.scope == Two || self.name == "chandra-toueg";
        match self.name {
            "raft"
            | "itai-rodeh"
            | "chandra-toueg"
            | "restarting-chang-roberts"
            | "invitation"
            | "raft-log"
            | "relayed-log" => Some(if whole { 2 } else { 1 }),
            _ => None,
        }
    }

    fn under<P: Algorithm + Checkable>(self, check: Check<P>, card: &Card) -> Check<P> {
        let mut check =
            check.channel_order(if self.needs_fifo() { ChannelOrder::Fifo } else { card.order });
        if card.detection != DetectorClass::None {
            check = check.detecting_failures();
        }
        if card.timing == Timing::Synchronous {
            check = check.synchronous(0..=1);
        }
        if card.timing == Timing::Rounds {
            check = check.in_rounds();
        }
        if let Some(max) = self.term_max() {
            check = check.max_term(max);
        }
        if self.faulty {
            check = check.max_losses(1).max_duplicates(1);
        }
        match (self.scope, self.name) {
            (
                OverTheChannel,
                "token-ring" | "misra-ring" | "repaired-ring" | "raft" | "chandra-toueg" | "lease"
                | "leased" | "raft-log" | "relayed-log" | "leased-shares",
            ) => check.in_flight_per_link(2).max_states(MAX_STATES),
            // These algorithms repeat messages faster than the channel delivers them, so only the
            // limit on the number of states ends the search.
            (OverTheChannel, "dijkstra-ring" | "restarting-chang-roberts" | "invitation") => {
                check.in_flight_per_link(2).max_states(MAX_STATES)
            }
            (OverTheChannel, _) => check.in_flight_per_link(2),
            // The tests in `leased.rs` and `leased_shares.rs` explore these algorithms
            // exhaustively.
            (Two | Three, "leased" | "leased-shares") => {
                check.in_flight_per_link(2).max_states(MAX_STATES)
            }
            (_, "dijkstra-ring") | (Three, "raft") | (Two | Three, "raft-log" | "relayed-log") => {
                check.in_flight_per_link(1)
            }
            (Two, "invitation") => check.in_flight_per_link(2),
            (Three, "invitation") => check.in_flight_per_link(1),
            _ => check,
        }
    }
}

impl AlgorithmVisitor for Case {
    type Output = CheckReport;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> CheckReport {
        let card = P::card(&config, self.size());
        let check = self.under(Check::<P>::with_protocol_config(self.size(), config), &card);
        let check = check.request_limits(if self.scope == Two { 2 } else { 1 });
        let check = match card.conflict_graph() {
            Some(graph) => check.always(LocalMutualExclusion::with_conflicts(graph.clone())),
            None => check.always(MutualExclusion::at_most(card.max_inside())),
        };
        let check = check.check_starvation_freedom();
        if card.is_fenced() { check.always(Fencing::new()).run() } else { check.run() }
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> CheckReport {
        let card = P::card(&config, self.size());
        let mut check = self.under(Check::<P>::with_protocol_config(self.size(), config), &card);
        if self.scope == OverTheChannel {
            check = check.initiators([ProcessId(0)]);
        }
        check = check.always_and_at_end(LeaderAgreement::new()).check_progress();
        if card.promises.contains(&Property::Validity) {
            let ranks = Parameters::with_defaults(self.size()).ranks;
            check = check.always_and_at_end(BestRankLeads::new(ranks.to_vec()));
        }
        if card.promises.contains(&Property::OneLeaderPerGroup) {
            check = check.always_and_at_end(OneLeaderPerGroup::new());
        }
        check.run()
    }

    fn agreement<P: tenure_core::Agreement + Algorithm>(self, config: P::Config) -> CheckReport {
        let card = P::card(&config, self.size());
        let mut check = self.under(Check::<P>::with_protocol_config(self.size(), config), &card);
        let is_large = self.scope == Three && LARGE_AGREEMENTS.contains(&self.name);
        // All processes take part if the service requires it.
        let of_all = [Service::Consensus, Service::Barrier].contains(&card.service);
        if is_large || self.scope == OverTheChannel && !of_all {
            check = check.initiators([ProcessId(0)]);
        } else if self.scope == Three && self.name == "relayed-log" {
            // More than one initiator makes millions of states: `docs/raft-log.md`.
            check = check.initiators([ProcessId(2)]);
        }
        let mut check = check.configure(|config| config.service = card.service).check_progress();
        let is_synchronous = card.timing == Timing::Synchronous;
        let clocked = card.timed_promises.into_iter().filter(|_| is_synchronous);
        for property in card.promises.into_iter().chain(clocked) {
            let Some(monitor) =
                AgreementMonitor::for_property(card.service, property, self.size(), &[])
            else {
                continue;
            };
            let monitor = monitor.with_graph(card.graph.as_deref());
            let ends = monitor.is_judged_at_end();
            check = if ends { check.always_and_at_end(monitor) } else { check.always(monitor) };
        }
        check.run()
    }
}

impl Scope {
    const fn name(self) -> &'static str {
        match self {
            Two => "two",
            Three => "three",
            OverTheChannel => "over-the-channel",
        }
    }
}

/// Explores these algorithms in one scope. Asserts that no property is violated, and that each
/// number of states equals the number in the golden file of the algorithm.
fn explore(names: &[&'static str], scope: Scope) {
    let mut wrong = String::new();
    for name in names {
        if scope == OverTheChannel && is_in_rounds(name) {
            continue;
        }
        let case = Case { name, scope, faulty: scope == OverTheChannel };
        let report = case.run();
        let all = |judgement| report.properties.iter().all(|(_, found)| *found == judgement);
        let through = all(Judgement::Holds);
        assert!(through || all(Judgement::Incomplete), "{case:?}: {report}");
        let states = if through { report.states.to_string() } else { "first".to_string() };
        compare_with_golden(case, &format!("{} {states}", scope.name()), &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}TENURE_GOLDEN=rewrite updates the files.");
}

/// Returns true if an algorithm needs synchronous rounds. The reliable channel cannot hide a loss
/// from such an algorithm: the channel sends the lost message again, but the message then arrives
/// too late for its round.
fn is_in_rounds(name: &str) -> bool {
    let card = catalogue::card(name, &Parameters::with_defaults(2)).unwrap();
    card.timing == Timing::Rounds
}

/// Compares the result with the line of this case in the file `states` of the algorithm, or updates
/// the line. Adds a difference to `wrong`.
fn compare_with_golden(case: Case, found: &str, wrong: &mut String) {
    let path = format!("../../algorithms/tests/golden/{}/states", case.name.replace('-', "_"));
    let text = fs::read_to_string(&path).unwrap_or_default();
    let is_ours = |line: &&str| line.starts_with(&format!("{} ", case.scope.name()));
    let pinned = text.lines().find(is_ours);
    if pinned == Some(found) {
        return;
    }
    if env::var("TENURE_GOLDEN").is_ok_and(|wish| wish == "rewrite") {
        let mut lines: Vec<&str> = text.lines().filter(|line| !is_ours(line)).collect();
        lines.push(found);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    } else {
        let pinned = pinned.unwrap_or("nothing");
        writeln!(wrong, "{path}: expected `{pinned}`, found `{found}`").unwrap();
    }
}

#[test]
fn locks_hold_for_two_and_three() {
    explore(MUTEXES, Two);
    explore(MUTEXES, Three);
}

#[test]
fn elections_hold_for_two_and_three() {
    explore(ELECTIONS, Two);
    explore(ELECTIONS, Three);
}

#[test]
fn agreements_hold_for_two_and_three() {
    explore(AGREEMENTS, Two);
    explore(AGREEMENTS, Three);
}

#[test]
#[ignore = "long: 4 s"]
fn agreements_hold_over_reliable_channel_with_faults() {
    explore(AGREEMENTS, OverTheChannel);
}

/// Agreement algorithms that have hundreds of thousands of states if all three processes take part.
const LARGE_AGREEMENTS: [&str; 3] = ["atomic-broadcast", "echo", "central-detection"];

/// Locks that have hundreds of thousands of states if they run over the reliable channel. Other
/// tests explore these locks with only one user, or with a smaller window of the channel.
const LARGE_LOCKS: [&str; 5] = ["lamport", "maekawa", "k-mutex", "majority", "edge-chasing"];

#[test]
#[ignore = "long: 10 s"]
fn locks_hold_over_reliable_channel_with_faults() {
    let is_small = |name: &&str| !LARGE_LOCKS.contains(name);
    let small: Vec<&str> = MUTEXES.iter().copied().filter(is_small).collect();
    assert_eq!(small.len() + LARGE_LOCKS.len(), MUTEXES.len());
    explore(&small, OverTheChannel);
}

#[test]
#[ignore = "takes half a minute on two cores"]
fn large_locks_hold_over_reliable_channel_with_faults() {
    explore(&LARGE_LOCKS, OverTheChannel);
}

#[test]
#[ignore = "long: 8 s"]
fn elections_hold_over_reliable_channel_with_faults() {
    explore(ELECTIONS, OverTheChannel);
}

/// Checks that one lost message and one duplicate violate properties if the reliable channel is not
/// used. The searches with the reliable channel contain the same faults.
#[test]
fn faults_violate_properties_without_reliable_channel() {
    for name in ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa", "raymond"] {
        let report = Case { name, scope: Two, faulty: true }.run();
        assert_eq!(
            report.judgement_of("starvation-freedom"),
            Judgement::Violated,
            "{name}: {report}"
        );
    }
    for name in ["lelann", "chang-roberts", "hirschberg-sinclair", "franklin"] {
        let report = Case { name, scope: Two, faulty: true }.run();
        assert_eq!(report.judgement_of("progress"), Judgement::Violated, "{name}: {report}");
    }
}
