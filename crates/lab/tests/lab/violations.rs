//! Tests of the moments at which violations occur.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::send;
use crate::two_processes::{first_enters, run_spec, serve};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol, labelled};
use tenure_lab::{
    Deadline, Engine, MomentView, ReachedMoment, RunContinuation, RunSource, RunSpec,
    SimulationEngine, Transition,
};
use tenure_sim::Simulation;
use tenure_trace::Trace;

/// Lock that every process enters at once, without regard to the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Unused,
}

labelled!(Message, Mutex, Unused => "unused");

impl Protocol for Open {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Open
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        fx.emit(match command {
            Command::Enter => Event::Entered { fence: Fence::NONE },
            Command::Exit => Event::Exited,
        });
    }

    fn on_message(&mut self, _: ProcessId, _: Message, _: &mut impl Effects<Self>) {}
}

/// Engine that counts the replays. If `is_late` is true, it refuses every replay that does not
/// continue the run, as after a deadline.
struct CountingEngine {
    run: SimulationEngine<Open>,
    counts: Counts,
}

#[derive(Clone, Default)]
struct Counts {
    replays: Arc<AtomicUsize>,
    is_late: Arc<AtomicBool>,
}

impl Engine for CountingEngine {
    fn replay_and_advance(
        &self,
        path: &[Transition],
        advance: &RunContinuation,
        reached: &mut Vec<ReachedMoment>,
        deadline: &Deadline,
    ) -> Result<MomentView, String> {
        self.counts.replays.fetch_add(1, Ordering::SeqCst);
        if *advance == RunContinuation::Steps(0) && self.counts.is_late.load(Ordering::SeqCst) {
            return Err("this takes too long".to_owned());
        }
        self.run.replay_and_advance(path, advance, reached, deadline)
    }
}

#[derive(Default)]
struct OpenSource(Counts);

impl RunSource for OpenSource {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn spec_from_args(&self, words: &[String]) -> Result<RunSpec, String> {
        let run = SimulationEngine::new(Simulation::<Open>::new((), first_enters()));
        Ok(run_spec(words, CountingEngine { run, counts: self.0.clone() }))
    }

    fn spec_from_trace(&self, _: &Trace) -> Result<RunSpec, String> {
        Err("an open lock is not recorded".to_owned())
    }
}

fn post(at: SocketAddr, what: &str, body: &Value) -> Value {
    let answer = send(at, &format!("POST /api/sessions{what}"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// Starts a lab and a session in which the first process has entered.
async fn open_session(source: OpenSource) -> SocketAddr {
    let at = serve(source).await;
    post(at, "", &json!({ "words": "open" }));
    post(at, "/1/step", &json!({ "steps": 1 }));
    at
}

/// Returns the moment at which mutual exclusion is violated.
fn moment(view: &Value) -> Value {
    let verdicts = view["verdicts"].as_array().unwrap();
    let mut exclusion = verdicts.iter().filter(|it| it["property"] == "mutual-exclusion");
    exclusion.next().unwrap()["moment"].clone()
}

/// A process boots, enters and crashes at the same time. The violation occurs when it enters.
#[tokio::test(flavor = "multi_thread")]
async fn violation_has_the_moment_of_its_step() {
    let at = open_session(OpenSource::default()).await;
    let ask = json!({ "ask": { "process": 2, "command": "enter" } });
    let entered = post(at, "/1/act", &ask);
    assert_eq!((&entered["time"], moment(&entered)), (&json!(0.0), entered["moment"].clone()));
    let crashed = post(at, "/1/act", &json!({ "crash": 2 }));
    assert_eq!(crashed["time"], 0.0);
    assert_ne!(crashed["moment"], entered["moment"]);
    assert_eq!(moment(&crashed), entered["moment"]);
    let violated = |place: &Value| {
        let tree = crashed["tree"].as_array().unwrap();
        tree.iter().find(|it| it["moment"] == *place).unwrap()["violated"].clone()
    };
    assert_eq!([&json!(0), &entered["moment"]].map(violated), [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn later_action_does_not_search_known_violation_again() {
    let counts = Counts::default();
    let at = open_session(OpenSource(counts.clone())).await;
    let entered = post(at, "/1/act", &json!({ "ask": { "process": 2, "command": "enter" } }));
    let before = counts.replays.load(Ordering::SeqCst);
    let crashed = post(at, "/1/act", &json!({ "crash": 2 }));
    assert_eq!(moment(&crashed), entered["moment"]);
    assert_eq!(counts.replays.load(Ordering::SeqCst), before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_during_search_for_violation_changes_nothing() {
    let counts = Counts::default();
    let at = open_session(OpenSource(counts.clone())).await;
    let ask = json!({ "ask": { "process": 2, "command": "enter" } });
    counts.is_late.store(true, Ordering::SeqCst);
    let refused = send(at, "POST /api/sessions/1/act", &ask.to_string());
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("this takes too long"), "{}", refused.body);
    counts.is_late.store(false, Ordering::SeqCst);
    let entered = post(at, "/1/act", &ask);
    assert_eq!((&entered["moment"], moment(&entered)), (&json!(2), json!(2)));
}
