//! States of processes in traces, for every algorithm of the catalogue.

use std::sync::Arc;

use crate::common::runs::{parsed, traced};
use serde_json::Value;
use tenure_algorithms::catalogue::{
    AGREEMENTS, AlgorithmVisitor, ELECTIONS, MUTEXES, Parameters, visit,
};
use tenure_core::{Agreement, Algorithm, Election, Mutex, ProcessId, Rank};
use tenure_sim::{Initiators, Settings, Simulation, Workload};

use tenure_trace::state::debug_tree;
use tenure_trace::{Record, RecordKind, RecordSubject, RecordableProtocol};

/// Visitor that runs one protocol of the catalogue and returns the trace of the run. If `states` is
/// true, the trace contains the states of the processes.
struct Traced {
    settings: Settings,
    states: bool,
}

/// A trace, with the final states of the processes as text and as trees of values.
struct Ran {
    trace: String,
    last: Vec<(String, Value)>,
}

impl AlgorithmVisitor for Traced {
    type Output = Ran;

    fn mutex<P: Mutex + Algorithm>(mut self, config: P::Config) -> Ran {
        self.settings.workload = Workload::entries(2);
        self.run::<P>(config)
    }

    fn election<P: Election + Algorithm>(mut self, config: P::Config) -> Ran {
        let initiators = Some(Initiators::All);
        self.settings.workload = Workload { initiators, ..Workload::default() };
        self.run::<P>(config)
    }

    fn agreement<P: Agreement + Algorithm>(mut self, config: P::Config) -> Ran {
        self.settings.workload = Workload::entries(1);
        self.run::<P>(config)
    }
}

impl Traced {
    fn run<P: Algorithm + RecordableProtocol>(self, config: P::Config) -> Ran {
        let mut simulation = Simulation::<P>::for_algorithm(config, self.settings).unwrap();
        if self.states {
            simulation = simulation.with_recorded_states();
        }
        let (_, trace) = traced(&simulation);
        let (_, processes) = simulation.run_and_inspect().unwrap();
        let last = processes.iter().map(|process| (format!("{process:?}"), debug_tree(process)));
        Ran { trace, last: last.collect() }
    }
}

fn run(name: &str, states: bool) -> Ran {
    let settings = Settings { seed: 7, ..Settings::new(3) };
    let ranks: Arc<[Rank]> = (1..=3).map(Rank::from_id).collect();
    let parameters = Parameters { ranks, ..Parameters::with_defaults(3) };
    visit(name, &parameters, Traced { settings, states }).expect("a name of the catalogue")
}

fn names() -> Vec<String> {
    let plain = MUTEXES.iter().chain(ELECTIONS).chain(AGREEMENTS).map(|name| (*name).to_owned());
    let made = ["fifo:lamport", "fifo:bully", "election-from-mutex:maekawa", "coordinated:raft"];
    plain.chain(made.map(str::to_owned)).collect()
}

fn records(trace: &str) -> Vec<Record> {
    parsed(trace).records
}

fn numbers(text: &str) -> Vec<u128> {
    let mut numbers: Vec<u128> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn leaves(tree: &Value, found: &mut Vec<String>) {
    match tree {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, found)),
        _ => {}
    }
}

#[test]
fn recorded_state_tree_is_complete() {
    for name in names() {
        for (text, tree) in run(&name, false).last {
            assert!(tree.is_object(), "{name}: {tree}");
            assert_eq!(numbers(&text), numbers(&tree.to_string()), "{name}: {text}\n{tree}");
            let mut texts = Vec::new();
            leaves(&tree, &mut texts);
            let raw = texts.iter().find(|text| text.contains(['{', '[', '"']));
            assert_eq!(raw, None, "{name}: not read to its end: {text}");
        }
    }
}

#[test]
fn recording_states_changes_nothing_else() {
    for name in names() {
        let (without, with) = (records(&run(&name, false).trace), records(&run(&name, true).trace));
        let is_state = |record: &&Record| matches!(record.kind, RecordKind::State(_));
        assert_eq!(without.iter().filter(is_state).count(), 0, "{name}");
        let others = with.iter().filter(|record| !is_state(record));
        let numbered =
            others.zip(1..).map(|(record, sequence)| Record { sequence, ..record.clone() });
        assert_eq!(numbered.collect::<Vec<_>>(), without, "{name}");
    }
}

#[test]
fn last_recorded_state_is_final_state() {
    for name in names() {
        let ran = run(&name, true);
        let records = records(&ran.trace);
        for (place, (text, tree)) in ran.last.iter().enumerate() {
            let at = RecordSubject::Process(ProcessId::from_index(place));
            let mut states = records.iter().rev().filter(|record| record.process == at);
            let last = states.find_map(|record| match &record.kind {
                RecordKind::State(state) => Some(state),
                _ => None,
            });
            assert_eq!(last, Some(tree), "{name}: {text}");
        }
    }
}

#[test]
fn records_state_only_when_changed() {
    for name in names() {
        let mut last = vec![None; 3];
        for record in records(&run(&name, true).trace) {
            let (RecordSubject::Process(at), RecordKind::State(state)) =
                (record.process, record.kind)
            else {
                continue;
            };
            assert_ne!(last[at.index()].as_ref(), Some(&state), "{name}");
            last[at.index()] = Some(state);
        }
        assert!(last.iter().all(Option::is_some), "{name}: every process has a state");
    }
}
