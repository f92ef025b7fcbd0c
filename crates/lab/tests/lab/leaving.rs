//! What is computed for somebody ends when they leave.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::ask;
use serde_json::{Value, json};
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::Algorithm;
use tenure_lab::{
    Apparatus, Cause, Engine, Ground, Lab, Mark, Patience, Run, Shown, Then, Workshop,
};
use tenure_sim::{Settings, Simulation};
use tenure_trace::Trace;
use tenure_web::Server;

/// Makes a run whose steps take for ever, and knows whether they were given up.
struct Treadmill {
    begun: Arc<AtomicBool>,
    given_up: Arc<AtomicBool>,
}

struct Endless {
    run: Run<RicartAgrawala>,
    begun: Arc<AtomicBool>,
    given_up: Arc<AtomicBool>,
}

impl Engine for Endless {
    fn go(
        &self,
        path: &[Cause],
        then: &Then,
        marks: &mut Vec<Mark>,
        patience: &Patience,
    ) -> Result<Shown, String> {
        if matches!(then, Then::Steps(0)) {
            return self.run.go(path, then, marks, patience);
        }
        self.begun.store(true, Ordering::Release);
        loop {
            if let Err(says) = patience.check() {
                // What merely takes too long is another matter.
                self.given_up.store(says.contains("has left"), Ordering::Release);
                return Err(says);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Workshop for Treadmill {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn of_words(&self, words: &[String]) -> Result<Apparatus, String> {
        let config = ricart_agrawala::Config::default();
        let card = RicartAgrawala::card(&config, 2);
        let run = Run::new(Simulation::new(config, Settings::new(2)));
        let (begun, given_up) = (self.begun.clone(), self.given_up.clone());
        Ok(Apparatus {
            words: words.join(" "),
            card,
            size: 2,
            ground: Ground::joined(2),
            replay: None,
            steers: Vec::new(),
            steps: 0,
            engine: Box::new(Endless { run, begun, given_up }),
        })
    }

    fn of_trace(&self, _: &Trace) -> Result<Apparatus, String> {
        Err("only runs that never end".to_owned())
    }
}

async fn eventually(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_nobody_waits_for_any_more_are_given_up() {
    let (begun, given_up) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let lab = Lab::new(Treadmill { begun: begun.clone(), given_up: given_up.clone() });
    let server = Server::bind([127, 0, 0, 1].into(), 0).await.unwrap();
    let at: SocketAddr = server.address();
    tokio::spawn(lab.serve(server, std::future::pending()));
    let opened = ask(at, "POST /api/sessions", r#"{"words": "treadmill"}"#);
    assert_eq!(opened.status, 200, "{}", opened.body);
    let mut impatient = TcpStream::connect(at).unwrap();
    let body = r#"{"steps": 1000}"#;
    let length = body.len();
    write!(
        impatient,
        "POST /api/sessions/1/step HTTP/1.1\r\nHost: {at}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    eventually(&begun).await;
    drop(impatient);
    eventually(&given_up).await;
}
