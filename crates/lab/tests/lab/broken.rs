//! A handler that panics ends one branch of a history, and neither the server nor the session.

use std::net::SocketAddr;

use crate::support::ask;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Effects, Fence, Group, ProcessId, Protocol, labelled};
use tenure_lab::{Apparatus, Ground, Lab, Run, Workshop};
use tenure_sim::{Entries, Locking, Pattern, Settings, Simulation, Span, Workload};
use tenure_trace::Trace;
use tenure_web::Server;

/// Enters when somebody welcomes it, and cannot bear to be greeted while it is inside.
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
                assert!(!self.is_inside, "{from} disturbs whoever is inside");
                fx.send(from, Message::Welcome);
            }
            Message::Welcome => {
                self.is_inside = true;
                fx.emit(Event::Entered { fence: Fence::NONE });
            }
        }
    }
}

/// Makes nothing but fragile locks.
struct Glassworks;

impl Workshop for Glassworks {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn of_words(&self, words: &[String]) -> Result<Apparatus, String> {
        let mut settings = Settings::new(2);
        // The first one is inside for long, and the other one asks only if it is told to.
        settings.workload = Workload::locking(Locking {
            pattern: Pattern::Closed { think: Span::ZERO },
            entries: Entries::Listed(vec![1, 0]),
            hold: Span::units(9),
        });
        let simulation = Simulation::<Fragile>::new((), settings);
        Ok(Apparatus {
            words: words.join(" "),
            card: RicartAgrawala::card(&ricart_agrawala::Config::default(), 2),
            size: 2,
            ground: Ground::joined(2),
            replay: None,
            steers: Vec::new(),
            steps: 0,
            engine: Box::new(Run::new(simulation)),
        })
    }

    fn of_trace(&self, _: &Trace) -> Result<Apparatus, String> {
        Err("glass is not recorded".to_owned())
    }
}

fn post(at: SocketAddr, what: &str, body: &Value) -> (u16, Value) {
    let answer = ask(at, &format!("POST /api/sessions{what}"), &body.to_string());
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_a_branch_with_its_words_and_leaves_the_others() {
    let server = Server::bind([127, 0, 0, 1].into(), 0).await.unwrap();
    let at = server.address();
    tokio::spawn(Lab::new(Glassworks).serve(server, std::future::pending()));
    let (status, begun) = post(at, "", &json!({ "words": "glass" }));
    assert_eq!((status, &begun["moment"]), (200, &json!(0)));
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
    let says = broken["ended"].as_str().expect("it has ended");
    assert!(says.starts_with("the algorithm broke down: P"), "{says}");
    assert!(says.ends_with("disturbs whoever is inside"), "{says}");
    assert_eq!(broken["next"], Value::Null);
    let moments = broken["tree"].as_array().unwrap();
    assert_eq!(moments.last().unwrap()["says"], says);
    assert_eq!(broken["moment"], moments.len() - 1);
    assert!(moments.len() > 2, "the steps before it are there: {moments:?}");
    assert!(inside(&broken), "what there was before is shown");
    for (what, body) in [("step", json!({ "steps": 1 })), ("act", json!({ "crash": 1 }))] {
        let (status, refused) = post(at, &format!("/1/{what}"), &body);
        assert_eq!(status, 400, "{refused}");
        assert!(refused["error"].as_str().unwrap().ends_with("go back to do something else"));
    }
    // The same step from the moment before breaks down again, in the moment that is known.
    let before = moments.len() - 2;
    let (_, back) = post(at, "/1/go", &json!({ "moment": before }));
    assert_eq!(back["ended"], Value::Null);
    let (_, again) = post(at, "/1/step", &json!({ "steps": 1 }));
    assert_eq!((&again["moment"], &again["tree"]), (&broken["moment"], &broken["tree"]));
    // Whoever loses the message that would break it goes on.
    let (_, back) = post(at, "/1/go", &json!({ "moment": before }));
    let (status, other) = post(at, "/1/act", &json!({ "lose": back["next"]["message"] }));
    assert_eq!((status, &other["ended"]), (200, &Value::Null), "{other}");
    assert_eq!(post(at, "", &json!({ "words": "another" })).0, 200, "the server lives");
}
