//! Runs of two processes, and a lab that serves them.

use std::net::SocketAddr;

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::Algorithm;
use tenure_lab::{Engine, Lab, NodeLayout, RunSource, RunSpec};
use tenure_sim::{
    Distribution, EntriesPerProcess, LockWorkload, RequestPattern, Settings, Workload,
};
use tenure_web::Server;

/// Returns settings in which the first process enters once and stays inside for a long time. The
/// second process enters only if the user requests it.
pub(crate) fn first_enters() -> Settings {
    let workload = Workload::locking(LockWorkload {
        pattern: RequestPattern::Closed { think: Distribution::ZERO },
        entries: EntriesPerProcess::Listed(vec![1, 0]),
        hold: Distribution::time_units(9),
    });
    Settings { workload, ..Settings::new(2) }
}

/// Returns a run of `engine`, which the user has requested with `words`.
pub(crate) fn run_spec(words: &[String], engine: impl Engine + 'static) -> RunSpec {
    RunSpec {
        origin: words.join(" "),
        card: RicartAgrawala::card(&ricart_agrawala::Config::default(), 2),
        size: 2,
        layout: NodeLayout::circle(2),
        replay: None,
        interventions: Vec::new(),
        steps: 0,
        engine: Box::new(engine),
    }
}

/// Starts a lab, and returns its address.
pub(crate) async fn serve(source: impl RunSource + 'static) -> SocketAddr {
    let server = Server::bind([127, 0, 0, 1].into(), 0).await.unwrap();
    let at = server.address();
    tokio::spawn(Lab::new(source).serve(server, std::future::pending()));
    at
}
