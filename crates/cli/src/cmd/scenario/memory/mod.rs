//! What goes wrong without a lock, with shared memory and without.

pub(crate) mod record;

use serde_json::{Value, json};
use tenure_sim::scenario::counter::{Race, Statements};

use super::Scenario;
use super::knobs::{Knob, Knobs};
use crate::cmd::experiment::Experiment;
use crate::cmd::failure::Failure;

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "race",
    source: "the shared counter of textbooks on operating systems, one thread up, one down",
    says: "Each statement is three instructions: load, operate, store. All interleavings of six.",
    takes: &[Knob::Start],
    experiments: race,
}];

fn race(knobs: &Knobs) -> Vec<Experiment> {
    let start = knobs.start();
    vec![
        interleaved(start),
        printed(start),
        atomic(start),
        by_messages(start),
        by_messages_locked(start),
    ]
}

/// How many schedules there are, and after how many of them the counter has which value.
fn finals(start: i64, statements: Statements) -> Result<Value, Failure> {
    let race = Race::new(start, [1, -1]);
    let schedules = race.schedules(statements).len();
    Ok(json!({ "schedules": schedules, "finals": race.finals(statements) }))
}

fn interleaved(start: i64) -> Experiment {
    let expected = json!({
        (start - 1).to_string(): 9, start.to_string(): 2, (start + 1).to_string(): 9,
    });
    Experiment::call(format!("every interleaving of counter++ and counter--, from {start}"), {
        move || finals(start, Statements::Interruptible)
    })
    .says("Whoever stores last wins, and in eighteen of twenty schedules an update is lost.")
    .is("interleavings", "/schedules", 20)
    .is("schedules by final value", "/finals", expected)
    .broken_call("the counter starts one higher", move || {
        finals(start + 1, Statements::Interruptible)
    })
}

fn printed(start: i64) -> Experiment {
    let told = move |schedules: [[usize; 6]; 2]| {
        let race = Race::new(start, [1, -1]);
        let told = schedules.map(|schedule| {
            race.run(&schedule).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        });
        Ok(json!(told))
    };
    let (more, less) = (start + 1, start - 1);
    let one = format!("r1={start} r1={more} r2={start} r2={less} counter={more} counter={less}");
    let other = format!("r2={start} r2={less} r1={start} r1={more} counter={less} counter={more}");
    Experiment::call("both load and operate; then they store, one after the other", move || {
        told([[1, 1, 2, 2, 1, 2], [2, 2, 1, 1, 2, 1]])
    })
    .says("The schedule that is always printed, and its mirror image.")
    .is("thread 2 stores last", "/0", one)
    .is("thread 1 stores last", "/1", other)
    .broken_call("the other thread stores last", move || {
        told([[1, 1, 2, 2, 2, 1], [2, 2, 1, 1, 1, 2]])
    })
}

fn atomic(start: i64) -> Experiment {
    Experiment::call("the same, each statement under a lock", move || {
        finals(start, Statements::Atomic)
    })
    .says("Under a lock only the serial orders are left, and both are right.")
    .is("serial orders", "/schedules", 2)
    .is("schedules by final value, under a lock", "/finals", json!({ start.to_string(): 2 }))
    .broken_call("without the lock", move || finals(start, Statements::Interruptible))
}

/// The same for a record at a server, which two clients change.
fn by_messages(start: i64) -> Experiment {
    let expected = json!({
        (start - 1).to_string(): 2, start.to_string(): 2, (start + 1).to_string(): 2,
    });
    let act = "two clients get a record from a server, change it, and put it back";
    Experiment::call(act, move || Ok(finals_of_record(start, false)))
        .says("Without shared memory it is the same, with messages for instructions.")
        .is("orders in which the server may be asked", "/orders", 6)
        .is("orders by final value of the record", "/finals", expected)
        .broken_call("with a lock", move || Ok(finals_of_record(start, true)))
}

fn by_messages_locked(start: i64) -> Experiment {
    let act = "the same, each client under a centralised lock";
    Experiment::call(act, move || Ok(finals_of_record(start, true)))
        .says("With a lock that is made of messages only the serial orders are left.")
        .is("orders under a lock", "/orders", 2)
        .is("by final value, under a lock", "/finals", json!({ start.to_string(): 2 }))
        .broken_call("without the lock", move || Ok(finals_of_record(start, false)))
}

fn finals_of_record(start: i64, locked: bool) -> Value {
    record::finals(start, &[1, -1], locked)
}
