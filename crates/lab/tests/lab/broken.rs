//! Tests of handlers that panic. A panic ends one branch of a session. The session and the server
//! continue.

use std::net::SocketAddr;

use crate::support::send;
use crate::two_processes::{first_enters, run_spec, serve};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol, labelled};
use tenure_lab::{RunSource, RunSpec, SimulationEngine};
use tenure_sim::Simulation;
use tenure_trace::Trace;

/// Lock that a process enters when it receives `Welcome` from any peer. A process panics if it
/// receives `Hello` while it holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fragile {
    group: Group,
    is_inside: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Hello,
    Welcome,
}

labelled!(Message, Mutex, Hello => "hello", Welcome => "welcome");

impl Protocol for Fragile {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Fragile { group, is_inside: false }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => fx.broadcast(&self.group.peers(), Message::Hello),
            Command::Exit => {
                self.is_inside = false;
                fx.emit(Event::Exited);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Hello => {
                assert!(!self.is_inside, "{from} disturbs the critical section");
                fx.send(from, Message::Welcome);
            }
            Message::Welcome => {
                self.is_inside = true;
                fx.emit(Event::Entered { fence: Fence::NONE });
            }
        }
    }
}

struct FragileSource;

impl RunSource for FragileSource {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn spec_from_args(&self, words: &[String]) -> Result<RunSpec, String> {
        let simulation = Simulation::<Fragile>::new((), first_enters());
        Ok(run_spec(words, SimulationEngine::new(simulation)))
    }

    fn spec_from_trace(&self, _: &Trace) -> Result<RunSpec, String> {
        Err("glass is not recorded".to_owned())
    }
}

fn post(at: SocketAddr, what: &str, body: &Value) -> (u16, Value) {
    let answer = send(at, &format!("POST /api/sessions{what}"), &body.to_string());
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_panic_ends_only_its_branch() {
    let at = serve(FragileSource).await;
    let (status, started) = post(at, "", &json!({ "words": "glass" }));
    assert_eq!((status, &started["moment"]), (200, &json!(0)));
    let inside = |view: &Value| {
        let processes = view["processes"].as_array().unwrap();
        processes.iter().any(|process| process["hold"] == "inside")
    };
    let (_, entered) = post(at, "/1/step", &json!({ "until": "event" }));
    assert!(inside(&entered), "{}", entered["happened"]);
    let (_, asked) = post(at, "/1/act", &json!({ "ask": { "process": 2, "command": "enter" } }));
    assert_eq!(asked["ended"], Value::Null, "{asked}");
    let (status, broken) = post(at, "/1/step", &json!({ "until": "end" }));
    assert_eq!(status, 200, "{broken}");
    let description = broken["ended"].as_str().expect("it has ended");
    assert!(description.starts_with("the algorithm panicked: P"), "{description}");
    assert!(description.ends_with("disturbs the critical section"), "{description}");
    assert_eq!(broken["next"], Value::Null);
    let moments = broken["tree"].as_array().unwrap();
    assert_eq!(moments.last().unwrap()["description"], description);
    assert_eq!(broken["moment"], moments.len() - 1);
    assert!(moments.len() > 2, "the steps before the panic are there: {moments:?}");
    assert!(inside(&broken), "the state before the panic is shown");
    for (what, body) in [("step", json!({ "steps": 1 })), ("act", json!({ "crash": 1 }))] {
        let (status, refused) = post(at, &format!("/1/{what}"), &body);
        assert_eq!(status, 400, "{refused}");
        assert!(refused["error"].as_str().unwrap().ends_with("go back to do something else"));
    }
    // The same step from the previous moment panics again. The session already has the moment of
    // the panic, and adds no further one.
    let before = moments.len() - 2;
    let (_, back) = post(at, "/1/go", &json!({ "moment": before }));
    assert_eq!(back["ended"], Value::Null);
    let (_, again) = post(at, "/1/step", &json!({ "steps": 1 }));
    assert_eq!((&again["moment"], &again["tree"]), (&broken["moment"], &broken["tree"]));
    // If the message that causes the panic is lost, the run continues.
    let (_, back) = post(at, "/1/go", &json!({ "moment": before }));
    let (status, other) = post(at, "/1/act", &json!({ "lose": back["next"]["message"] }));
    assert_eq!((status, &other["ended"]), (200, &Value::Null), "{other}");
    assert_eq!(post(at, "", &json!({ "words": "another" })).0, 200, "the server lives");
}
