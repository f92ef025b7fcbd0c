//! Tests of clients that disconnect. The lab then cancels their computations.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::send;
use crate::two_processes::{run_spec, serve};
use serde_json::{Value, json};
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_lab::{
    Deadline, Engine, MomentView, ReachedMoment, RunContinuation, RunSource, RunSpec,
    SimulationEngine, Transition,
};
use tenure_sim::{Settings, Simulation};
use tenure_trace::Trace;

const LIMIT: Duration = Duration::from_secs(120);

/// Source of one run that never ends by itself. The source records the start and the cancellation
/// of the computation.
struct EndlessSource {
    started: Arc<AtomicBool>,
    is_cancelled: Arc<AtomicBool>,
}

struct EndlessEngine {
    run: SimulationEngine<RicartAgrawala>,
    started: Arc<AtomicBool>,
    is_cancelled: Arc<AtomicBool>,
}

impl Engine for EndlessEngine {
    fn replay_and_advance(
        &self,
        path: &[Transition],
        advance: &RunContinuation,
        reached: &mut Vec<ReachedMoment>,
        deadline: &Deadline,
    ) -> Result<MomentView, String> {
        if matches!(advance, RunContinuation::Steps(0)) {
            return self.run.replay_and_advance(path, advance, reached, deadline);
        }
        self.started.store(true, Ordering::Release);
        let started = Instant::now();
        loop {
            // The loop ignores the time limit, which may pass before the client has disconnected.
            if let Err(description) = deadline.ensure_may_continue()
                && (description.contains("disconnected") || started.elapsed() > LIMIT)
            {
                self.is_cancelled.store(description.contains("disconnected"), Ordering::Release);
                return Err(description);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl RunSource for EndlessSource {
    fn algorithms(&self) -> Value {
        json!([])
    }

    fn spec_from_args(&self, words: &[String]) -> Result<RunSpec, String> {
        let config = ricart_agrawala::Config::default();
        let run = SimulationEngine::new(Simulation::new(config, Settings::new(2)));
        let (started, is_cancelled) = (self.started.clone(), self.is_cancelled.clone());
        Ok(run_spec(words, EndlessEngine { run, started, is_cancelled }))
    }

    fn spec_from_trace(&self, _: &Trace) -> Result<RunSpec, String> {
        Err("only runs that never end".to_owned())
    }
}

async fn eventually(flag: &AtomicBool) {
    let started = Instant::now();
    while !flag.load(Ordering::Acquire) {
        assert!(started.elapsed() < LIMIT, "it does not happen");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancels_steps_when_client_disconnects() {
    let (started, is_cancelled) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let source = EndlessSource { started: started.clone(), is_cancelled: is_cancelled.clone() };
    let at = serve(source).await;
    let opened = send(at, "POST /api/sessions", r#"{"words": "treadmill"}"#);
    assert_eq!(opened.status, 200, "{}", opened.body);
    let mut connection = TcpStream::connect(at).unwrap();
    let body = r#"{"steps": 1000}"#;
    let length = body.len();
    write!(
        connection,
        "POST /api/sessions/1/step HTTP/1.1\r\nHost: {at}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    eventually(&started).await;
    drop(connection);
    eventually(&is_cancelled).await;
}
