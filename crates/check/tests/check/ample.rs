//! One delivery for many steps on rings: fewer worlds, the same verdicts.
//!
//! Thousands of searches have some tens of worlds each: one thread goes through them sooner than
//! two are started.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::Member;
use tenure_algorithms::election::{
    ChangRoberts, DolevKlaweRodeh, Franklin, LeLann, chang_roberts, dolev_klawe_rodeh, franklin,
    lelann,
};
use tenure_algorithms::mutex::{MisraRing, TokenRing, misra_ring};
use tenure_check::{Check, Judgement, Manner, Report};
use tenure_core::monitors::{Agreement, Fencing, MutualExclusion};
use tenure_core::service::election;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Effects, Election, Fence, Group, Monitor, Mutex, Observed, OfElection, ProcessId, Property,
    Protocol, Rank, Violation, labelled,
};

use crate::among::{of, with};
use crate::elections::{judged, ranks};
use crate::verdicts::verdicts;

/// How many cases there were, how many of them are violated, and the states of each search over
/// the others.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    violated: usize,
    plain: u64,
    reduced: u64,
}

impl Tally {
    fn compare<P>(&mut self, ids: &[u32], starting: u32, config: &P::Config)
    where
        P: Member + Election,
    {
        let initiators = (0..ids.len() as u32).filter(|place| starting >> place & 1 != 0);
        let check = || {
            let check = with::<P>(ids.len() as u32, config.clone()).fifo().threads(1);
            judged(check.initiators(initiators.clone().map(ProcessId)), ids)
        };
        let (plain, reduced) = (check().run(), check().ample().run());
        let case = || format!("ranks {ids:?}, initiators {starting:b}: {plain}{reduced}");
        assert_eq!(verdicts(&plain), verdicts(&reduced), "{}", case());
        let stories = |report: &Report| -> Vec<String> {
            report.counterexamples.iter().map(ToString::to_string).collect()
        };
        assert_eq!(stories(&plain), stories(&reduced), "{}", case());
        self.cases += 1;
        if plain.judgement() == Judgement::Holds {
            assert!(reduced.reduced, "{}", case());
            self.plain += plain.states;
            self.reduced += reduced.states;
        } else {
            assert!(!reduced.reduced, "{}", case());
            self.violated += 1;
        }
    }

    /// The same for every algorithm of a ring in one direction, and its variants.
    fn compare_all(&mut self, ids: &[u32], starting: u32) {
        let ranks: Arc<[Rank]> = ranks(ids);
        for variants in
            [Variants::none(), Variants::none().with(chang_roberts::Switch::UnmarkedForward)]
        {
            let config = chang_roberts::Config::of(Arc::clone(&ranks), variants);
            self.compare::<ChangRoberts>(ids, starting, &config);
        }
        for variants in [Variants::none(), Variants::none().with(lelann::Switch::ForwardFirst)] {
            let config = lelann::Config::of(Arc::clone(&ranks), variants);
            self.compare::<LeLann>(ids, starting, &config);
        }
        let config = dolev_klawe_rodeh::Config::of(ranks);
        self.compare::<DolevKlaweRodeh>(ids, starting, &config);
    }
}

/// Every way to give each of `size` processes one of `size` ranks, equal ones too: an election
/// among equals is wrong in many ways.
fn all_ranks(size: u32) -> impl Iterator<Item = Vec<u32>> {
    let digit = move |number: u32, place: u32| number / size.pow(place) % size + 1;
    (0..size.pow(size)).map(move |number| (0..size).map(|place| digit(number, place)).collect())
}

fn all_differ(ids: &[u32]) -> bool {
    (1..=ids.len() as u32).all(|id| ids.contains(&id))
}

#[test]
fn on_two_and_three_the_verdicts_are_those_of_the_plain_search_whatever_the_ranks() {
    let mut tally = Tally::default();
    for size in 2..=3 {
        for ids in all_ranks(size) {
            for starting in 1..1 << size {
                tally.compare_all(&ids, starting);
            }
        }
    }
    assert_eq!((tally.cases, tally.violated), (1005, 589));
    assert!(tally.reduced < tally.plain, "{tally:?}");
}

#[test]
fn on_four_the_verdicts_are_those_of_the_plain_search_in_every_order_of_the_ranks() {
    let mut tally = Tally::default();
    for ids in all_ranks(4).filter(|ids| all_differ(ids)) {
        for starting in [0b0001, 0b0100, 0b1010] {
            tally.compare_all(&ids, starting);
        }
    }
    assert_eq!((tally.cases, tally.violated), (360, 60));
    assert!(2 * tally.reduced < tally.plain, "{tally:?}");
}

/// A token goes round for ever, and whoever wants it keeps it for one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Carousel {
    group: Group,
    manner: Manners,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// What a process does with the token when it wants to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Manners {
    Enters,
    /// All but the last do.
    LastNeverEnters,
    /// The last draws lots for it.
    LastDrawsLots,
    /// Enters, and makes another token.
    Doubles,
    /// Enters, and sends the token back whence it came.
    TurnsBack,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Token,
}

labelled!(Message, Mutex, Token => "token");

impl Protocol for Carousel {
    type Config = Manners;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, manner: &Manners, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        if group.me() == ProcessId(0) {
            fx.send(group.successor(), Message::Token);
        }
        Carousel { group, manner: *manner, phase: Phase::Idle }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.phase = Phase::Waiting,
            Command::Exit => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                let back = self.manner == Manners::TurnsBack;
                let next = if back { self.group.predecessor() } else { self.group.successor() };
                fx.send(next, Message::Token);
            }
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let last = self.group.me().index() + 1 == self.group.size() as usize;
        let enters = match self.manner {
            Manners::LastNeverEnters => !last,
            Manners::LastDrawsLots => !last || self.phase == Phase::Waiting && fx.choose(2) == 1,
            Manners::Enters | Manners::Doubles | Manners::TurnsBack => true,
        };
        if self.phase != Phase::Waiting || !enters {
            return fx.send(self.group.successor(), message);
        }
        self.phase = Phase::Inside;
        fx.emit(Event::Entered { fence: Fence::NONE });
        if self.manner == Manners::Doubles {
            fx.send(self.group.successor(), message);
        }
    }
}

fn carousel(manner: Manners, entries: u32, size: u32) -> Check<Carousel> {
    let check = Check::<Carousel>::with(size, manner).fifo().entries(entries);
    check.always(MutualExclusion::new()).starvation_free()
}

/// Where tokens go round without end, nobody's steps are put off for ever.
#[test]
fn on_a_ring_that_never_rests_the_verdicts_are_those_of_the_plain_search() {
    use Manners::{Doubles, Enters, LastDrawsLots, LastNeverEnters, TurnsBack};
    let mut manners = Vec::new();
    for manner in [Enters, LastNeverEnters, LastDrawsLots, Doubles, TurnsBack] {
        for (entries, size) in [(1, 2), (1, 3), (2, 3), (1, 4)] {
            let check = || carousel(manner, entries, size);
            let (plain, reduced) = (check().run(), check().ample().run());
            let case = format!("{manner:?}, {entries} entries of {size}: {plain}{reduced}");
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{case}");
            // Two processes are always a ring in one direction.
            let on_the_ring = manner != TurnsBack || size == 2;
            let holds = plain.judgement() == Judgement::Holds;
            assert_eq!(reduced.reduced, holds && on_the_ring, "{case}");
            if reduced.reduced {
                assert!(reduced.states < plain.states, "{case}");
            } else {
                assert_eq!(reduced.states, plain.states, "{case}");
            }
            manners.extend(plain.counterexamples.iter().map(|found| found.manner));
        }
    }
    for manner in [Manner::Step, Manner::Blocked, Manner::Starvation] {
        assert!(manners.contains(&manner), "nothing shows {manner:?}");
    }
}

/// On a ring in both directions a process has two that send to it: one delivery stands for
/// nothing, also where nobody said so.
#[test]
fn a_protocol_that_leaves_the_ring_is_searched_plainly() {
    let config = || franklin::Config::of(ranks(&[1, 2, 3]));
    let check = || judged(with::<Franklin>(3, config()).fifo(), &[1, 2, 3]);
    let (plain, reduced) = (check().run(), check().ample().run());
    assert!(!reduced.reduced);
    assert_eq!((plain.states, plain.transitions), (reduced.states, reduced.transitions));
}

#[test]
fn where_the_environment_can_interfere_nothing_is_reduced() {
    let config = || lelann::Config::plain(3);
    let check = || with::<LeLann>(3, config()).in_the_end(Agreement::new());
    let calm = check().fifo();
    assert!(calm.ample().run().reduced);
    let hostile = [
        check(),
        check().fifo().losing(1),
        check().fifo().duplicating(1),
        check().fifo().crashing(1),
        check().fifo().down([ProcessId(1)]),
        check().fifo().detecting(),
        check().fifo().suspecting_falsely(1),
        check().fifo().synchronous(0..=1),
    ];
    for check in hostile {
        assert!(!check.ample().run().reduced);
    }
}

/// The more processes have nothing to do but to pass on, the more it pays.
#[test]
fn an_election_started_by_one_of_six_has_fewer_worlds_by_a_factor_of_seventeen() {
    let ids = [1, 2, 3, 4, 5, 6];
    let started_by = |most: u32| {
        let check = || {
            let check = with::<LeLann>(6, lelann::Config::plain(6)).fifo();
            judged(check.initiators((0..most).map(ProcessId)), &ids)
        };
        (check().run().states, check().ample().run().states)
    };
    assert_eq!(started_by(1), (1672, 95));
    assert_eq!(started_by(2), (8786, 831));
}

/// A link that is full puts an end to some runs; the reduced search keeps to the same bound, also
/// on its way to what is wrong.
#[test]
fn within_a_bound_on_links_the_verdicts_are_those_of_the_plain_search() {
    let wrong = Variants::none().with(lelann::Switch::ForwardFirst);
    let mut violated = 0;
    for (most, variants) in (1..=3).flat_map(|most| [(most, Variants::none()), (most, wrong)]) {
        for ids in all_ranks(3) {
            let config = || lelann::Config::of(ranks(&ids), variants);
            let check =
                || judged(with::<LeLann>(3, config()).fifo().in_flight(most).threads(1), &ids);
            let (plain, reduced) = (check().run(), check().ample().run());
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{most}: {plain}{reduced}");
            assert!(plain.bounds.in_flight.is_some() || reduced.bounds.in_flight.is_none());
            let within = plain.bounds.in_flight.is_some() && !plain.counterexamples.is_empty();
            violated += u32::from(within);
        }
    }
    assert!(violated > 0, "something is wrong within a bound");
}

/// Refuses that anybody is told something after somebody of a higher place, or of a lower one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ToldInOrder {
    ascending: bool,
    last: Option<ProcessId>,
}

impl Monitor<election::Command, election::Event> for ToldInOrder {
    fn property(&self) -> Property {
        Property::Own("told-in-order")
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        let Observed::Event(_) = seen else { return Ok(()) };
        match self.last.replace(at) {
            Some(last) if last != at && (last < at) != self.ascending => {
                Err(Violation { at, says: format!("after {last}") })
            }
            _ => Ok(()),
        }
    }
}

/// What a monitor sees is not put into another order, so every order of it is found.
#[test]
fn every_order_of_what_is_seen_is_found() {
    let mut judgements = Vec::new();
    for (ids, starting) in all_ranks(3).flat_map(|ids| (1..8).map(move |set| (ids.clone(), set))) {
        for ascending in [true, false] {
            let check = || {
                let config = lelann::Config::of(ranks(&ids), Variants::none());
                let initiators = (0..3).filter(|place| starting >> place & 1 != 0);
                let check = with::<LeLann>(3, config).fifo().threads(1);
                let monitor = ToldInOrder { ascending, last: None };
                check.initiators(initiators.map(ProcessId)).always(monitor)
            };
            let (plain, reduced) = (check().run(), check().ample().run());
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{ids:?}: {plain}{reduced}");
            judgements.push(plain.judgement());
        }
    }
    assert!(judgements.contains(&Judgement::Violated) && judgements.contains(&Judgement::Holds));
}

/// Locks that pass a token on: little is invisible there, and nothing is lost.
#[test]
fn locks_on_a_ring_keep_their_verdicts() {
    fn same<P: Mutex>(check: impl Fn() -> Check<P>) -> Judgement {
        let (plain, reduced) = (check().run(), check().ample().run());
        assert_eq!(verdicts(&plain), verdicts(&reduced), "{plain}{reduced}");
        assert!(reduced.states <= plain.states);
        plain.judgement()
    }
    for (size, entries) in [(2, 1), (2, 2), (3, 1), (3, 2)] {
        let check = || {
            let check = of::<TokenRing>(size).fifo().entries(entries);
            check.always(MutualExclusion::new()).always(Fencing::new()).starvation_free()
        };
        assert_eq!(same(check), Judgement::Holds);
    }
    let misra = |variants, size| {
        let config = misra_ring::Config { variants, ..misra_ring::Config::default() };
        with::<MisraRing>(size, config).fifo().always(MutualExclusion::new())
    };
    assert_eq!(same(|| misra(Variants::none(), 2).starvation_free()), Judgement::Holds);
    let few = Variants::none().with(misra_ring::Switch::FewNumbers);
    for size in 2..=3 {
        assert_eq!(same(|| misra(few, size)), Judgement::Violated);
    }
}
