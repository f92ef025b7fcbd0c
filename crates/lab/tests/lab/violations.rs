//! Tests of the moments at which violations occur.

use std::net::SocketAddr;

use crate::support::send;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Effects, Fence, Group, ProcessId, Protocol, labelled};
use tenure_lab::{Lab, NodeLayout, RunSource, RunSpec, SimulationEngine};
use tenure_sim::{
    Distribution, EntriesPerProcess, LockWorkload, RequestPattern, Settings, Simulation, Workload,
};
use tenure_trace::Trace;
use tenure_web::Server;

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

struct OpenSource;

impl RunSource for OpenSource {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn run_from_args(&self, words: &[String]) -> Result<RunSpec, String> {
        let mut settings = Settings::new(2);
        // The second process enters only if the user requests it.
        settings.workload = Workload::locking(LockWorkload {
            pattern: RequestPattern::Closed { think: Distribution::ZERO },
            entries: EntriesPerProcess::Listed(vec![1, 0]),
            hold: Distribution::units(9),
        });
        Ok(RunSpec {
            origin: words.join(" "),
            card: RicartAgrawala::card(&ricart_agrawala::Config::default(), 2),
            size: 2,
            layout: NodeLayout::circle(2),
            replay: None,
            interventions: Vec::new(),
            steps: 0,
            engine: Box::new(SimulationEngine::new(Simulation::<Open>::new((), settings))),
        })
    }

    fn run_from_trace(&self, _: &Trace) -> Result<RunSpec, String> {
        Err("an open lock is not recorded".to_owned())
    }
}

fn post(at: SocketAddr, what: &str, body: &Value) -> Value {
    let answer = send(at, &format!("POST /api/sessions{what}"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// A process boots, enters and crashes at the same time. The violation occurs when it enters.
#[tokio::test(flavor = "multi_thread")]
async fn violation_has_the_moment_of_its_step() {
    let server = Server::bind([127, 0, 0, 1].into(), 0).await.unwrap();
    let at = server.address();
    tokio::spawn(Lab::new(OpenSource).serve(server, std::future::pending()));
    post(at, "", &json!({ "words": "open" }));
    post(at, "/1/step", &json!({ "steps": 1 }));
    let moment = |view: &Value| {
        let verdicts = view["verdicts"].as_array().unwrap();
        let mut exclusion = verdicts.iter().filter(|it| it["property"] == "mutual-exclusion");
        exclusion.next().unwrap()["moment"].clone()
    };
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
