//! Every algorithm of the catalogue in the same scopes, as far as its card allows: two processes,
//! three processes, and two over the reliable channel where one message is lost and one arrives
//! twice. A number of states that changes is a changed algorithm.

use tenure_algorithms::catalogue::{self, ELECTIONS, MUTEXES, Parameters, Visitor};
use tenure_check::{Check, Judgement, Report, Service};
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, Fencing, MutualExclusion, Validity};
use tenure_core::{
    Algorithm, Card, Detection, Election, Mutex, Order, ProcessId, Property, Timing,
};

/// How far a search went that found nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Explored {
    /// Through all states, so many of them.
    All(u64),
    /// Through the first ones: where something goes round for ever, the channel's numbers grow.
    First,
}

use Explored::{All, First};

/// What the last column is cut off at.
const FIRST: u64 = 100_000;

/// By name: two that enter twice, three that enter once, two that enter once over the channel.
const LOCKS: [(&str, [Explored; 3]); 17] = [
    ("central", [All(86), All(113), All(33_287)]),
    ("token-ring", [All(100), All(162), First]),
    ("lamport", [All(733), All(167_334), All(418_082)]),
    ("ricart-agrawala", [All(193), All(4_592), All(177_845)]),
    ("carvalho-roucairol", [All(153), All(983), All(62_720)]),
    ("maekawa", [All(269), All(4_518), All(447_908)]),
    ("suzuki-kasami", [All(83), All(725), All(62_720)]),
    ("raymond", [All(69), All(150), All(62_720)]),
    ("naimi-trehel", [All(69), All(164), All(62_720)]),
    ("k-mutex", [All(2_519), All(11_434), All(276_669)]),
    ("misra-ring", [All(14_934), All(119_824), First]),
    ("repaired-ring", [All(100), All(162), First]),
    ("majority", [All(269), All(457), All(447_908)]),
    ("nishio-li-manning", [All(83), All(725), All(62_720)]),
    ("tolerant-ricart-agrawala", [All(221), All(4_604), All(177_845)]),
    ("dijkstra-ring", [All(1_200), All(5_832), First]),
    ("edge-chasing", [All(693), All(11_875), All(1_224_924)]),
];

/// By name: two and three that all start, and two of whom one starts over the channel.
const LEADERS: [(&str, [Explored; 3]); 9] = [
    ("lelann", [All(33), All(550), All(26_834)]),
    ("chang-roberts", [All(32), All(256), All(40_365)]),
    ("hirschberg-sinclair", [All(2_221), All(29_085), All(213_368)]),
    ("dolev-klawe-rodeh", [All(54), All(476), All(187_605)]),
    ("franklin", [All(1_074), All(12_128), All(127_605)]),
    ("itai-rodeh", [All(155), All(3_280), All(35_616)]),
    ("bully", [All(81), All(21_586), All(1_374)]),
    ("raft", [All(4_965), All(35_395), First]),
    ("repaired-chang-roberts", [All(47), All(849), All(40_365)]),
];

/// The columns of the tables.
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
        let parameters = Parameters::plain(self.size());
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
        let grows = ["raft", "itai-rodeh"].contains(&self.name);
        grows.then_some(if self.scope == Two { 2 } else { 1 })
    }

    /// The environment that the card asks for, with the faults of this cell.
    fn under<P: Algorithm>(self, check: Check<P>, card: &Card) -> Check<P>
    where
        P::Command: Service<Event = P::Event>,
    {
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
            (OverTheChannel, "token-ring" | "misra-ring" | "repaired-ring" | "raft") => {
                check.in_flight(2).max_states(FIRST)
            }
            // It says everything again by itself, faster than the channel says it again.
            (OverTheChannel, "dijkstra-ring") => check.in_flight(2).max_states(FIRST),
            (OverTheChannel, _) => check.in_flight(2),
            (_, "dijkstra-ring") => check.in_flight(1),
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
        let check = check.always(MutualExclusion::at_most(card.most_inside())).progress();
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
}

/// Asserts a column: nothing is violated, and there are as many states as are written there.
fn column<const N: usize>(table: [(&'static str, [Explored; 3]); N], scope: Scope) {
    let found = table.map(|(name, _)| {
        let cell = Cell { name, scope, faulty: scope == OverTheChannel };
        let report = cell.run();
        let all = |judgement| report.properties.iter().all(|(_, found)| *found == judgement);
        if all(Judgement::Holds) {
            return (name, All(report.states));
        }
        assert!(all(Judgement::Incomplete), "{cell:?}: {report}");
        (name, First)
    });
    assert_eq!(found, table.map(|(name, cells)| (name, cells[scope as usize])), "{scope:?}");
}

#[test]
fn the_tables_have_every_algorithm_of_the_catalogue() {
    assert_eq!(LOCKS.map(|(name, _)| name), MUTEXES);
    assert_eq!(LEADERS.map(|(name, _)| name), ELECTIONS);
}

#[claims("I-78")]
#[test]
fn every_lock_is_right_for_two_and_for_three() {
    column(LOCKS, Two);
    column(LOCKS, Three);
}

#[test]
fn every_election_is_right_for_two_and_for_three() {
    column(LEADERS, Two);
    column(LEADERS, Three);
}

#[test]
fn every_lock_is_right_over_the_channel_with_a_loss_and_a_duplicate() {
    column(LOCKS, OverTheChannel);
}

#[test]
fn every_election_is_right_over_the_channel_with_a_loss_and_a_duplicate() {
    column(LEADERS, OverTheChannel);
}

/// The negative control: without the channel those faults are found.
#[test]
fn without_the_channel_a_loss_and_a_duplicate_do_harm() {
    for name in ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa", "raymond"] {
        let report = Cell { name, scope: Two, faulty: true }.run();
        assert_eq!(report.of("progress"), Judgement::Violated, "{name}: {report}");
    }
    for name in ["lelann", "chang-roberts", "hirschberg-sinclair", "franklin"] {
        let report = Cell { name, scope: Two, faulty: true }.run();
        assert_eq!(report.of("progress"), Judgement::Violated, "{name}: {report}");
    }
}
