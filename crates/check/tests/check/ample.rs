//! Tests of the reduction by ample sets on rings. A search with the reduction visits fewer states
//! and reaches the same judgements as a search without it.
//!
//! The tests run thousands of searches with tens of states each. One thread is faster than two for
//! such small searches, so each search uses one thread.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::election::{
    ChangRoberts, DolevKlaweRodeh, Franklin, LeLann, chang_roberts, dolev_klawe_rodeh, franklin,
    lelann,
};
use tenure_algorithms::mutex::{MisraRing, TokenRing, misra_ring};
use tenure_check::{Check, CheckReport, Judgement, ViolationKind};
use tenure_core::monitors::{Fencing, LeaderAgreement, MutualExclusion};
use tenure_core::service::election;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Effects, Election, ElectionObservation, Fence, Group, Monitor, Mutex, Observation, ProcessId,
    Property, Protocol, Rank, Violation, labelled,
};

use crate::by_service::{of, with};
use crate::catalogue::safe_and_live;
use crate::elections::{ranks, with_properties};
use crate::verdicts::verdicts;

/// Totals over many cases. Each case is searched once without and once with the reduction. `cases`
/// is the number of cases, and `violated` is the number of cases with a violation. `plain` and
/// `reduced` are the numbers of states without and with the reduction.
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
        P: SumTypeMember + Election,
    {
        let initiators = (0..ids.len() as u32).filter(|place| starting >> place & 1 != 0);
        let check = || {
            let check = with::<P>(ids.len() as u32, config.clone()).fifo().threads(1);
            with_properties(check.initiators(initiators.clone().map(ProcessId)), ids)
        };
        let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
        let case = || format!("ranks {ids:?}, initiators {starting:b}: {plain}{reduced}");
        assert_eq!(verdicts(&plain), verdicts(&reduced), "{}", case());
        let stories = |report: &CheckReport| -> Vec<String> {
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

    /// Compares searches without and with the reduction, for every algorithm on a unidirectional
    /// ring and every variant. Asserts equal results. `ids` contains the ranks, and the bits of
    /// `starting` select the initiators.
    fn compare_all(&mut self, ids: &[u32], starting: u32) {
        let ranks: Arc<[Rank]> = ranks(ids);
        for variants in
            [Variants::none(), Variants::none().with(chang_roberts::VariantId::UnmarkedForward)]
        {
            let config = chang_roberts::Config::with_ranks(Arc::clone(&ranks), variants);
            self.compare::<ChangRoberts>(ids, starting, &config);
        }
        for variants in [Variants::none(), Variants::none().with(lelann::VariantId::ForwardFirst)] {
            let config = lelann::Config::with_ranks(Arc::clone(&ranks), variants);
            self.compare::<LeLann>(ids, starting, &config);
        }
        let config = dolev_klawe_rodeh::Config::with_ranks(ranks);
        self.compare::<DolevKlaweRodeh>(ids, starting, &config);
    }
}

/// Returns all assignments of ranks from 1 to `size` to `size` processes. Some assignments give
/// several processes the same rank. Elections with equal ranks fail in many ways.
fn all_ranks(size: u32) -> impl Iterator<Item = Vec<u32>> {
    let digit = move |number: u32, place: u32| number / size.pow(place) % size + 1;
    (0..size.pow(size)).map(move |number| (0..size).map(|place| digit(number, place)).collect())
}

fn all_differ(ids: &[u32]) -> bool {
    (1..=ids.len() as u32).all(|id| ids.contains(&id))
}

#[test]
#[ignore = "long: 8 s"]
fn reduction_keeps_judgements_for_two_and_three() {
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
fn reduction_keeps_judgements_for_four() {
    let mut tally = Tally::default();
    for ids in all_ranks(4).filter(|ids| all_differ(ids)) {
        for starting in [0b0001, 0b0100, 0b1010] {
            tally.compare_all(&ids, starting);
        }
    }
    assert_eq!((tally.cases, tally.violated), (360, 60));
    assert!(2 * tally.reduced < tally.plain, "{tally:?}");
}

/// A lock with a token that circulates on a ring forever. If a process wants to enter, it keeps the
/// token for one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CirculatingToken {
    group: Group,
    token_use: TokenUse,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// Behaviour of a process that wants to enter and has the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TokenUse {
    Enters,
    /// All processes but the last one enter.
    LastNeverEnters,
    /// The last process decides at random whether to enter.
    LastDrawsLots,
    /// A process enters, and creates a second token.
    Doubles,
    /// A process enters, and returns the token to the process that sent it.
    TurnsBack,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Token,
}

labelled!(Message, Mutex, Token => "token");

impl Protocol for CirculatingToken {
    type Config = TokenUse;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, used: &TokenUse, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        if group.me() == ProcessId(0) {
            fx.send(group.successor(), Message::Token);
        }
        CirculatingToken { group, token_use: *used, phase: Phase::Idle }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.phase = Phase::Waiting,
            Command::Exit => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                let back = self.token_use == TokenUse::TurnsBack;
                let next = if back { self.group.predecessor() } else { self.group.successor() };
                fx.send(next, Message::Token);
            }
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let last = self.group.me().index() + 1 == self.group.size() as usize;
        let enters = match self.token_use {
            TokenUse::LastNeverEnters => !last,
            TokenUse::LastDrawsLots => !last || self.phase == Phase::Waiting && fx.choose(2) == 1,
            TokenUse::Enters | TokenUse::Doubles | TokenUse::TurnsBack => true,
        };
        if self.phase != Phase::Waiting || !enters {
            return fx.send(self.group.successor(), message);
        }
        self.phase = Phase::Inside;
        fx.emit(Event::Entered { fence: Fence::NONE });
        if self.token_use == TokenUse::Doubles {
            fx.send(self.group.successor(), message);
        }
    }
}

fn circulating_token(token_use: TokenUse, entries: u32, size: u32) -> Check<CirculatingToken> {
    safe_and_live(Check::with_protocol_config(size, token_use).fifo().request_limits(entries))
}

/// A token circulates forever. A wrong reduction could therefore postpone the steps of a process
/// forever. The test checks that the judgements are the same with and without the reduction.
#[test]
fn reduction_keeps_judgements_with_endless_circulation() {
    use TokenUse::{Doubles, Enters, LastDrawsLots, LastNeverEnters, TurnsBack};
    let mut manners = Vec::new();
    for token_use in [Enters, LastNeverEnters, LastDrawsLots, Doubles, TurnsBack] {
        for (entries, size) in [(1, 2), (1, 3), (2, 3), (1, 4)] {
            let check = || circulating_token(token_use, entries, size);
            let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
            let case = format!("{token_use:?}, {entries} entries of {size}: {plain}{reduced}");
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{case}");
            // With two processes, `TurnsBack` sends the token to the next process, as on any
            // unidirectional ring.
            let on_the_ring = token_use != TurnsBack || size == 2;
            let holds = plain.judgement() == Judgement::Holds;
            assert_eq!(reduced.reduced, holds && on_the_ring, "{case}");
            if reduced.reduced {
                assert!(reduced.states < plain.states, "{case}");
            } else {
                assert_eq!(reduced.states, plain.states, "{case}");
            }
            manners.extend(plain.counterexamples.iter().map(|found| found.kind));
        }
    }
    for token_use in [ViolationKind::Step, ViolationKind::Blocked, ViolationKind::Starvation] {
        assert!(manners.contains(&token_use), "nothing shows {token_use:?}");
    }
}

/// On a bidirectional ring, a process receives messages from two senders. The reduction must not
/// apply, even if the check requests it.
#[test]
fn protocol_that_leaves_the_ring_is_not_reduced() {
    let config = || franklin::Config::with_ranks(ranks(&[1, 2, 3]));
    let check = || with_properties(with::<Franklin>(3, config()).fifo(), &[1, 2, 3]);
    let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
    assert!(!reduced.reduced);
    assert_eq!((plain.states, plain.transitions), (reduced.states, reduced.transitions));
}

#[test]
fn faults_and_reordering_disable_the_reduction() {
    let config = || lelann::Config::with_defaults(3);
    let check = || with::<LeLann>(3, config()).always_and_at_end(LeaderAgreement::new());
    let calm = check().fifo();
    assert!(calm.reducing_by_ample_sets().run().reduced);
    let hostile = [
        check(),
        check().fifo().max_losses(1),
        check().fifo().max_duplicates(1),
        check().fifo().max_crashes(1),
        check().fifo().initially_down([ProcessId(1)]),
        check().fifo().detecting_failures(),
        check().fifo().max_false_suspicions(1),
        check().fifo().synchronous(0..=1),
    ];
    for check in hostile {
        assert!(!check.reducing_by_ample_sets().run().reduced);
    }
}

/// A limited search without the reduction reports a depth within which no run violates a property.
/// With the reduction, it must not report such a depth, because the reduction can lengthen the runs
/// to a violation.
#[test]
fn limited_search_claims_no_depth() {
    let check = || {
        let check = with::<LeLann>(3, lelann::Config::with_defaults(3)).fifo();
        check.always(LeaderAgreement::new()).max_states(20)
    };
    let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
    assert!(reduced.reduced && reduced.reached_limit.is_some(), "{reduced}");
    assert!(plain.to_string().contains("within depth"), "{plain}");
    assert!(!reduced.to_string().contains("within depth"), "{reduced}");
}

/// With six processes and one initiator, the reduction divides the number of states by seventeen.
/// With two initiators, there are fewer processes that only forward messages, so the reduction
/// saves less.
#[test]
fn reduction_saves_factor_of_seventeen_for_six() {
    let ids = [1, 2, 3, 4, 5, 6];
    let started_by = |max: u32| {
        let check = || {
            let check = with::<LeLann>(6, lelann::Config::with_defaults(6)).fifo();
            with_properties(check.initiators((0..max).map(ProcessId)), &ids)
        };
        (check().run().states, check().reducing_by_ample_sets().run().states)
    };
    assert_eq!(started_by(1), (1672, 95));
    assert_eq!(started_by(2), (8786, 831));
}

/// Some runs reach the bound on messages per link. The reduced search must respect this bound, also
/// if it finds a violation.
#[test]
fn reduction_keeps_judgements_within_link_bound() {
    let wrong = Variants::none().with(lelann::VariantId::ForwardFirst);
    let mut violated = 0;
    for (max, variants) in (1..=3).flat_map(|max| [(max, Variants::none()), (max, wrong)]) {
        for ids in all_ranks(3) {
            let config = || lelann::Config::with_ranks(ranks(&ids), variants);
            let check = || {
                with_properties(
                    with::<LeLann>(3, config()).fifo().in_flight_per_link(max).threads(1),
                    &ids,
                )
            };
            let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{max}: {plain}{reduced}");
            assert!(plain.bounds.in_flight.is_some() || reduced.bounds.in_flight.is_none());
            let within = plain.bounds.in_flight.is_some() && !plain.counterexamples.is_empty();
            violated += u32::from(within);
        }
    }
    assert!(violated > 0, "something is wrong within a bound");
}

/// Monitor of the order in which processes report events. If `ascending` is true, each event must
/// come from the process of the previous event or from a process with a higher number. Otherwise,
/// each event must come from the same process or from a process with a lower number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EventOrder {
    ascending: bool,
    last: Option<ProcessId>,
}

impl Monitor<election::Command, election::Event> for EventOrder {
    fn property(&self) -> Property {
        Property::Custom("told-in-order")
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> Result<(), Violation> {
        let Observation::Event(_) = seen else { return Ok(()) };
        match self.last.replace(at) {
            Some(last) if last != at && (last < at) != self.ascending => {
                Err(Violation { at, message: format!("after {last}") })
            }
            _ => Ok(()),
        }
    }
}

/// The search with the reduction finds every possible order of observable steps.
#[test]
fn reduction_finds_every_order_of_observations() {
    let mut judgements = Vec::new();
    for (ids, starting) in all_ranks(3).flat_map(|ids| (1..8).map(move |set| (ids.clone(), set))) {
        for ascending in [true, false] {
            let check = || {
                let config = lelann::Config::with_ranks(ranks(&ids), Variants::none());
                let initiators = (0..3).filter(|place| starting >> place & 1 != 0);
                let check = with::<LeLann>(3, config).fifo().threads(1);
                let monitor = EventOrder { ascending, last: None };
                check.initiators(initiators.map(ProcessId)).always(monitor)
            };
            let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
            assert_eq!(verdicts(&plain), verdicts(&reduced), "{ids:?}: {plain}{reduced}");
            judgements.push(plain.judgement());
        }
    }
    assert!(judgements.contains(&Judgement::Violated) && judgements.contains(&Judgement::Holds));
}

/// Compares searches with and without the reduction, for locks that pass a token around a ring. The
/// reduction saves few states of these locks, but it hides no violation.
#[test]
fn reduction_keeps_judgements_of_ring_locks() {
    fn same<P: Mutex>(check: impl Fn() -> Check<P>) -> Judgement {
        let (plain, reduced) = (check().run(), check().reducing_by_ample_sets().run());
        assert_eq!(verdicts(&plain), verdicts(&reduced), "{plain}{reduced}");
        assert!(reduced.states <= plain.states);
        plain.judgement()
    }
    for (size, entries) in [(2, 1), (2, 2), (3, 1), (3, 2)] {
        let check = || {
            let check = of::<TokenRing>(size).fifo().request_limits(entries);
            check.always(MutualExclusion::new()).always(Fencing::new()).check_starvation_freedom()
        };
        assert_eq!(same(check), Judgement::Holds);
    }
    let misra = |variants, size| {
        let config = misra_ring::Config { variants, ..misra_ring::Config::default() };
        with::<MisraRing>(size, config).fifo().always(MutualExclusion::new())
    };
    assert_eq!(same(|| misra(Variants::none(), 2).check_starvation_freedom()), Judgement::Holds);
    let few = Variants::none().with(misra_ring::VariantId::FewNumbers);
    for size in 2..=3 {
        assert_eq!(same(|| misra(few, size)), Judgement::Violated);
    }
}
