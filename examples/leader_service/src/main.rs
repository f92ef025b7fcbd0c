//! An HTTP service that runs as several copies on several machines. One of the copies leads.
//!
//! All copies campaign. Only the leader accepts `POST /jobs`. All other copies respond with 503, so
//! that a load balancer or the client tries another copy. `GET /leader` is a readiness probe: it
//! returns 200 at the leader and 503 elsewhere.
//!
//! `cargo run -p leader-service -- 127.0.0.1:8080 http://127.0.0.1:2379`
#![allow(clippy::print_stdout, reason = "an example prints its address")]

mod leadership;

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tenure_client::Client;
use tokio::net::TcpListener;

use crate::leadership::LeadershipHandle;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: leader-service ADDRESS ENDPOINT [SECONDS]")?;
    let endpoint = arguments.next().unwrap_or_else(|| "http://127.0.0.1:2379".to_owned());
    let ttl = arguments.next().map_or(Ok(10), |seconds| seconds.parse())?;

    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    println!("http://{address}");
    let client = Client::connect([endpoint]).await?;
    let leadership = LeadershipHandle::default();
    tokio::spawn(leadership.clone().campaign(client, address, Duration::from_secs(ttl)));
    let application = Router::new()
        .route("/leader", get(leader))
        .route("/jobs", post(start_job))
        .with_state(leadership);
    Ok(axum::serve(listener, application).await?)
}

/// Returns the fencing token if this copy leads, and otherwise the status 503.
async fn leader(State(leadership): State<LeadershipHandle>) -> Result<String, StatusCode> {
    let fence = leadership.fence().ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(format!("{fence}\n"))
}

/// Starts a job if this copy leads. A real job gives the fencing token to the database that it
/// writes to, because the leadership may end at any time after this check.
async fn start_job(
    State(leadership): State<LeadershipHandle>,
    job: String,
) -> Result<String, StatusCode> {
    let fence = leadership.fence().ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(format!("{job} started with fencing token {fence}\n"))
}
