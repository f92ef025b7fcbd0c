//! Tests of the self-stabilization of Dijkstra's three solutions. Closure, convergence and the
//! greatest number of moves equal the results of an independent search of all states.

use tenure_algorithms::stabilization::{
    StabilizingSystemConfig, StabilizingSystemError, create_system,
};
use tenure_check::{
    Judgement, MeasureValue, StabilizationConfig, StabilizationError, StabilizationReport,
    StabilizationRun, check_stabilization,
};
use tenure_core::Property;

use crate::independent::searches::stabilization::{
    Figures, Machine, System, four_state, k_state, three_state,
};

const RING: &str = "dijkstra-ring";
const FOUR: &str = "dijkstra-four-state";
const THREE: &str = "dijkstra-three-state";

fn plain(size: usize) -> StabilizingSystemConfig {
    let size = size.try_into().expect("a small number");
    StabilizingSystemConfig {
        size,
        machine_state_count: None,
        has_messages: false,
        variants: Vec::new(),
    }
}

fn of_states(size: usize, states: u8) -> StabilizingSystemConfig {
    StabilizingSystemConfig { machine_state_count: Some(states), ..plain(size) }
}

fn checked(name: &str, config: &StabilizingSystemConfig) -> StabilizationReport {
    let system = create_system(name, config).expect("a valid configuration");
    let config = StabilizationConfig { name: name.to_owned(), max_states: 20_000_000 };
    check_stabilization(&*system, &config).expect("a small system")
}

fn converges(report: &StabilizationReport) -> bool {
    report.judgement_of(Property::Convergence) == Judgement::Holds
}

fn figures(report: &StabilizationReport) -> Figures {
    Figures {
        states: report.states as usize,
        legitimate: report.legitimate_state_count as usize,
        transitions: usize::try_from(report.transitions).expect("a small number"),
        is_closed: report.judgement_of(Property::Closure) == Judgement::Holds,
        moves: match report.max_moves {
            MeasureValue::Exactly(moves) if converges(report) => Some(moves),
            _ => None,
        },
    }
}

fn moves(name: &str, config: &StabilizingSystemConfig) -> Option<u32> {
    figures(&checked(name, config)).moves
}

#[test]
fn figures_match_independent_search() {
    for machines in 2..=5 {
        for modulus in 2..=6 {
            let report = checked(RING, &of_states(machines, modulus));
            let expected = k_state(machines, modulus).figures();
            assert_eq!(figures(&report), expected, "{machines} machines of {modulus} states");
        }
        assert_eq!(figures(&checked(FOUR, &plain(machines))), four_state(machines).figures());
        if machines > 2 {
            let report = checked(THREE, &plain(machines));
            assert_eq!(figures(&report), three_state(machines).figures());
        }
    }
}

/// Checks the greatest number of moves until convergence, for each of Dijkstra's three solutions.
/// In the first solution, each of N machines has K states. If K is greater than N, the number of
/// moves is the same as for K = N. If K is N − 1, the number is smaller for N = 3, and the same for
/// N = 4 and N = 5.
#[test]
fn moves_to_converge_at_most() {
    let default = |name: &'static str| move |size| moves(name, &plain(size)).expect("a bound");
    assert_eq!((2..=6).map(default(RING)).collect::<Vec<_>>(), [0, 2, 13, 24, 38]);
    assert_eq!((3..=6).map(default(FOUR)).collect::<Vec<_>>(), [2, 7, 13, 21]);
    assert_eq!((3..=6).map(default(THREE)).collect::<Vec<_>>(), [2, 10, 22, 39]);
    let more = |states| (3..=5).map(move |size| moves(RING, &of_states(size, states + size as u8)));
    assert!(more(1).eq([2, 13, 24].map(Some)));
    let one_less = (3..=5).map(|size: u8| moves(RING, &of_states(size.into(), size - 1)));
    assert!(one_less.eq([1, 13, 24].map(Some)));
}

#[test]
fn ring_converges_from_n_minus_one_states_on() {
    for machines in 3..=6_u8 {
        let converging =
            |states: &u8| converges(&checked(RING, &of_states(machines.into(), *states)));
        assert_eq!((2..).find(converging), Some(machines - 1), "{machines} machines");
    }
}

fn executed(model: &System, run: &StabilizationRun) -> Vec<Vec<Machine>> {
    let value = |text: &str| -> Machine {
        let mut letters = text.chars();
        let number = letters.next().and_then(|digit| digit.to_digit(10)).expect("a digit");
        (u8::try_from(number).expect("a digit"), letters.next() == Some('↑'))
    };
    let mut states = vec![run.initial_machine_states().into_iter().map(value).collect::<Vec<_>>()];
    for step in run.step_descriptions() {
        let (machine, _) = step.split_once(' ').expect("a machine");
        let (_, change) = step.split_once(": ").expect("a change");
        let (before, after) = change.split_once(" → ").expect("two values");
        let at = machine[1..].parse::<usize>().expect("a number") - 1;
        let state = states.last().expect("a state");
        assert_eq!(state[at], value(before), "{step}");
        let mut next = state.clone();
        next[at] = value(after);
        assert!(model.successors(state).contains(&(at, next.clone())), "{step}: impossible");
        states.push(next);
    }
    states
}

#[test]
fn worst_schedules_are_possible_and_as_long() {
    for (name, model) in [(RING, k_state(4, 4)), (FOUR, four_state(5)), (THREE, three_state(5))] {
        let report = checked(name, &plain(model.values.len()));
        let worst = report.worst_run.as_ref().expect("a worst schedule");
        let states = executed(&model, worst);
        let legitimate = |state: &Vec<Machine>| model.successors(state).len() == 1;
        assert_eq!(states.iter().position(legitimate), Some(worst.step_count()), "{name}");
        assert_eq!(Some(worst.step_count() as u32), figures(&report).moves, "{name}");
    }
}

#[test]
fn too_few_states_leave_a_cycle() {
    let report = checked(RING, &of_states(4, 2));
    assert_eq!(
        (report.judgement_of(Property::Closure), converges(&report)),
        (Judgement::Holds, false)
    );
    let found = report.counterexamples.first().expect("a cycle");
    let states = executed(&k_state(4, 2), &found.run);
    assert_eq!(states.first(), states.last());
    assert!(states.iter().all(|state| k_state(4, 2).successors(state).len() > 1));
    assert_eq!(report.max_moves, MeasureValue::Unbounded);
}

#[test]
fn mistakes_are_found() {
    let cases = [
        (RING, "no-first", 3, [false, true], 0),
        (FOUR, "bottom-ignores-up", 3, [true, true], 1),
        (FOUR, "down-ignores-up", 4, [true, true], 1),
        (THREE, "top-ignores-bottom", 3, [true, false], 1),
        (THREE, "top-ignores-itself", 3, [true, true], 1),
        (THREE, "one-way", 3, [true, true], 1),
    ];
    for (name, variant, size, violated, length) in cases {
        let config = StabilizingSystemConfig { variants: vec![variant.to_owned()], ..plain(size) };
        let report = checked(name, &config);
        let found = [Property::Closure, Property::Convergence]
            .map(|property| report.judgement_of(property) == Judgement::Violated);
        assert_eq!(found, violated, "{name} with {variant}");
        assert_eq!(report.counterexamples[0].run.step_count(), length, "{name} with {variant}");
    }
}

/// Compares Dijkstra's ring with messages to a program in C++ that is not part of the repository:
/// the numbers of states and moves must be equal.
#[test]
fn ring_with_messages_needs_more_states() {
    let with_messages =
        |size, states| StabilizingSystemConfig { has_messages: true, ..of_states(size, states) };
    for (states, all, legitimate, moves) in [(3, 1296, 108, 8), (4, 6400, 208, 8)] {
        let report = checked(RING, &with_messages(2, states));
        assert_eq!((report.states, report.legitimate_state_count), (all, legitimate));
        assert_eq!(figures(&report).moves, Some(moves), "{states} states");
        assert!(report.is_fair && figures(&report).is_closed);
    }
    for (size, states) in [(2, 2), (3, 2)] {
        let report = checked(RING, &with_messages(size, states));
        assert!(!converges(&report) && figures(&report).is_closed, "{size} of {states} states");
        let cycle = &report.counterexamples[0].run;
        assert!(cycle.step_descriptions().iter().any(|step| step.contains("moves")), "{cycle}");
        assert!(cycle.step_descriptions().iter().any(|step| step.contains("receives")), "{cycle}");
    }
}

/// This test takes minutes, because the search has 3 million states. To run the test: `cargo test
/// --release -p tenure-check-tests -- --ignored three_processes`.
#[test]
#[ignore = "takes minutes"]
fn ring_of_three_processes_with_messages_needs_five_states() {
    let config = StabilizingSystemConfig { has_messages: true, ..of_states(3, 5) };
    let report = checked(RING, &config);
    assert_eq!((report.states, report.legitimate_state_count), (3_375_000, 1080));
    assert_eq!(figures(&report).moves, Some(22));
    let four = StabilizingSystemConfig { has_messages: true, ..of_states(3, 4) };
    assert!(!converges(&checked(RING, &four)));
}

#[test]
fn rejects_impossible_systems() {
    let rejected = |name: &str, config: &StabilizingSystemConfig| create_system(name, config).err();
    assert_eq!(rejected("lamport", &plain(3)), Some(StabilizingSystemError::Name));
    assert_eq!(rejected(RING, &plain(1)), Some(StabilizingSystemError::Size { size: 1 }));
    assert_eq!(
        rejected(RING, &of_states(3, 1)),
        Some(StabilizingSystemError::States { states: 1 })
    );
    assert_eq!(
        rejected(FOUR, &of_states(3, 4)),
        Some(StabilizingSystemError::FixedStates { name: FOUR })
    );
    let with_messages = StabilizingSystemConfig { has_messages: true, ..plain(3) };
    assert_eq!(
        rejected(THREE, &with_messages),
        Some(StabilizingSystemError::NoMessages { name: THREE })
    );
    let large = create_system(RING, &plain(10)).expect("a valid configuration");
    let config = StabilizationConfig { name: RING.to_owned(), max_states: 1000 };
    let error = StabilizationError::TooManyStates { states: 10_000_000_000, max: 1000 };
    assert_eq!(check_stabilization(&*large, &config).err(), Some(error));
}
