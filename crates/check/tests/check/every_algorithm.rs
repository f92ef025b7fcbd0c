//! Every algorithm of the catalogue in the same scopes, as far as its card allows: two processes,
//! three processes, and two over the reliable channel where one message is lost and one arrives
//! twice. How many states there are stands beside the algorithm's stories, in the file `states`,
//! and `TENURE_GOLDEN=rewrite` writes it (all of it with `--include-ignored`). A number that
//! changes is a changed algorithm.
//!
//! Numbers of states are pins against regressions: the program printed them. Some were counted by
//! others as well, in `tests/independent`.

use std::fmt::Write;
use std::{env, fs};

use tenure_algorithms::catalogue::{self, AGREEMENTS, ELECTIONS, MUTEXES, Parameters, Visitor};
use tenure_check::{Check, Checkable, Judgement, Report};
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, AnyAgreement, Fencing, MutualExclusion, Validity};
use tenure_core::{
    Algorithm, Card, Detection, Election, Mutex, Order, ProcessId, Property, Service, Timing,
};

/// Where the last column is cut off: where something goes round for ever, the channel's numbers
/// grow.
const FIRST: u64 = 100_000;

/// The lines of such a file: two that enter twice or start both, three that enter once or start
/// all, and two that enter once, or of whom one starts, over the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Two,
    Three,
    OverTheChannel,
}

use Scope::{OverTheChannel, Three, Two};

/// One cell: an algorithm in a scope.
#[derive(Clone, Copy, Debug)]
struct Cell {
    name: &'static str,
    scope: Scope,
    /// Whether a message is lost and one doubled, channel or not.
    faulty: bool,
}

impl Cell {
    fn run(self) -> Report {
        let channel = if self.scope == OverTheChannel { "fifo:" } else { "" };
        let parameters = Parameters { rounds: 1, ..Parameters::plain(self.size()) };
        catalogue::visit(&format!("{channel}{}", self.name), &parameters, self)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn size(self) -> u32 {
        if self.scope == Three { 3 } else { 2 }
    }

    /// Links in order, where any order would take minutes.
    fn in_order(self) -> bool {
        match self.scope {
            Two => self.name == "edge-chasing",
            Three => ["hirschberg-sinclair", "franklin", "bully"].contains(&self.name),
            OverTheChannel => {
                let slow = [
                    "lamport",
                    "maekawa",
                    "majority",
                    "edge-chasing",
                    "hirschberg-sinclair",
                    "franklin",
                ];
                slow.contains(&self.name)
            }
        }
    }

    /// The term beyond which worlds are cut off, where terms or rounds grow for ever.
    fn term_max(self) -> Option<u64> {
        let grows = [
            "raft",
            "itai-rodeh",
            "chandra-toueg",
            "restarting-chang-roberts",
            "raft-log",
            "relayed-log",
        ];
        let whole = self.scope == Two || self.name == "chandra-toueg";
        grows.contains(&self.name).then_some(if whole { 2 } else { 1 })
    }

    /// The environment that the card asks for, with the faults of this cell.
    fn under<P: Algorithm + Checkable>(self, check: Check<P>, card: &Card) -> Check<P> {
        let mut check = check.channel(if self.in_order() { Order::Fifo } else { card.order });
        if card.detection != Detection::None {
            check = check.detecting();
        }
        if card.timing == Timing::Synchronous {
            check = check.synchronous(0..=1);
        }
        if let Some(most) = self.term_max() {
            check = check.term_max(most);
        }
        if self.faulty {
            check = check.losing(1).duplicating(1);
        }
        match (self.scope, self.name) {
            (
                OverTheChannel,
                "token-ring" | "misra-ring" | "repaired-ring" | "raft" | "chandra-toueg" | "lease"
                | "leased" | "raft-log" | "relayed-log",
            ) => check.in_flight(2).max_states(FIRST),
            // It says everything again by itself, faster than the channel says it again.
            (OverTheChannel, "dijkstra-ring" | "restarting-chang-roberts") => {
                check.in_flight(2).max_states(FIRST)
            }
            (OverTheChannel, _) => check.in_flight(2),
            // Its own tests go through; see `leased.rs`.
            (Two | Three, "leased") => check.in_flight(2).max_states(FIRST),
            (_, "dijkstra-ring") | (Three, "raft") | (Two | Three, "raft-log" | "relayed-log") => {
                check.in_flight(1)
            }
            _ => check,
        }
    }
}

impl Visitor for Cell {
    type Output = Report;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Report {
        let card = P::card(&config, self.size());
        let check = self.under(Check::<P>::with(self.size(), config), &card);
        let check = check.entries(if self.scope == Two { 2 } else { 1 });
        let check = check.always(MutualExclusion::at_most(card.most_inside())).starvation_free();
        if card.fenced() { check.always(Fencing::new()).run() } else { check.run() }
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Report {
        let card = P::card(&config, self.size());
        let mut check = self.under(Check::<P>::with(self.size(), config), &card);
        if self.scope == OverTheChannel {
            check = check.initiators([ProcessId(0)]);
        }
        check = check.in_the_end(Agreement::new()).progress();
        if card.promises.contains(&Property::Validity) {
            let ranks = Parameters::plain(self.size()).ranks;
            check = check.in_the_end(Validity::new(ranks.to_vec()));
        }
        check.run()
    }

    fn agreement<P: tenure_core::Agreement + Algorithm>(self, config: P::Config) -> Report {
        let card = P::card(&config, self.size());
        let mut check = self.under(Check::<P>::with(self.size(), config), &card);
        let is_large = self.scope == Three && self.name == "atomic-broadcast";
        // Where all have to take part, all do.
        let of_all = [Service::Consensus, Service::Barrier].contains(&card.service);
        if is_large || self.scope == OverTheChannel && !of_all {
            check = check.initiators([ProcessId(0)]);
        } else if self.scope == Three && self.name == "relayed-log" {
            // Millions of worlds where more than one asks: `docs/raft-log.md`.
            check = check.initiators([ProcessId(2)]);
        }
        let mut check = check.serving(card.service).progress();
        for property in card.promises {
            let Some(monitor) = AnyAgreement::of(card.service, property, self.size(), &[]) else {
                continue;
            };
            let ends = monitor.judges_the_end();
            check = if ends { check.in_the_end(monitor) } else { check.always(monitor) };
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

/// Asserts that nothing is violated, and that there are as many states as are written there.
fn explore(names: &[&'static str], scope: Scope) {
    let mut wrong = String::new();
    for name in names {
        let cell = Cell { name, scope, faulty: scope == OverTheChannel };
        let report = cell.run();
        let all = |judgement| report.properties.iter().all(|(_, found)| *found == judgement);
        let through = all(Judgement::Holds);
        assert!(through || all(Judgement::Incomplete), "{cell:?}: {report}");
        let states = if through { report.states.to_string() } else { "first".to_string() };
        pin(cell, &format!("{} {states}", scope.name()), &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}TENURE_GOLDEN=rewrite writes what is found.");
}

/// Compares a line of the file of an algorithm with what was found, or writes it there.
fn pin(cell: Cell, found: &str, wrong: &mut String) {
    let path = format!("../algorithms/tests/golden/{}/states", cell.name.replace('-', "_"));
    let text = fs::read_to_string(&path).unwrap_or_default();
    let is_ours = |line: &&str| line.starts_with(&format!("{} ", cell.scope.name()));
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
        writeln!(wrong, "{path}: `{pinned}` is written there, and `{found}` is found").unwrap();
    }
}

#[claims("I-78")]
#[test]
fn every_lock_is_right_for_two_and_for_three() {
    explore(MUTEXES, Two);
    explore(MUTEXES, Three);
}

#[test]
fn every_election_is_right_for_two_and_for_three() {
    explore(ELECTIONS, Two);
    explore(ELECTIONS, Three);
}

#[test]
fn every_agreement_is_right_for_two_and_for_three() {
    explore(AGREEMENTS, Two);
    explore(AGREEMENTS, Three);
}

#[test]
fn every_agreement_is_right_over_the_channel_with_a_loss_and_a_duplicate() {
    explore(AGREEMENTS, OverTheChannel);
}

/// Locks with hundreds of thousands of worlds over the channel. Their own tests have fewer of them:
/// one user, or a smaller window.
const MANY_WORLDS: [&str; 5] = ["lamport", "maekawa", "k-mutex", "majority", "edge-chasing"];

#[test]
fn every_lock_is_right_over_the_channel_with_a_loss_and_a_duplicate() {
    let is_small = |name: &&str| !MANY_WORLDS.contains(name);
    let small: Vec<&str> = MUTEXES.iter().copied().filter(is_small).collect();
    assert_eq!(small.len() + MANY_WORLDS.len(), MUTEXES.len());
    explore(&small, OverTheChannel);
}

#[test]
#[ignore = "half a minute of two cores"]
fn locks_of_many_worlds_are_right_over_the_channel_with_a_loss_and_a_duplicate() {
    explore(&MANY_WORLDS, OverTheChannel);
}

#[test]
fn every_election_is_right_over_the_channel_with_a_loss_and_a_duplicate() {
    explore(ELECTIONS, OverTheChannel);
}

/// The negative control: without the channel those faults are found.
#[test]
fn without_the_channel_a_loss_and_a_duplicate_do_harm() {
    for name in ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa", "raymond"] {
        let report = Cell { name, scope: Two, faulty: true }.run();
        assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{name}: {report}");
    }
    for name in ["lelann", "chang-roberts", "hirschberg-sinclair", "franklin"] {
        let report = Cell { name, scope: Two, faulty: true }.run();
        assert_eq!(report.of("progress"), Judgement::Violated, "{name}: {report}");
    }
}
