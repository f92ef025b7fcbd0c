//! An HTTP service that rejects stale fencing tokens, as a resource for `examples/guards/http.sh`.
//!
//! The handlers know nothing about locks. For each document, `FenceLayer` stores the highest token
//! in a directory. It compares the header `Tenure-Fence` of a request with this token, also after a
//! restart. Handlers that write to a database can compare the token in their statement instead.
//!
//! `cargo run -p tenure --example 08_fenced_service -- 127.0.0.1:8080 DIRECTORY`
#![allow(clippy::print_stdout, reason = "an example prints its address")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use tenure_client::FenceLayer;
use tokio::net::TcpListener;

type Documents = Arc<Mutex<HashMap<String, String>>>;

/// Returns a service that stores documents. It has no documents at the start, and accepts every
/// write.
pub(crate) fn documents() -> Router {
    Router::new().route("/documents/{name}", get(read).put(write)).with_state(Documents::default())
}

/// Returns the service with a layer that rejects stale fencing tokens. The layer keeps the highest
/// tokens in `directory`.
pub(crate) fn fenced(directory: impl Into<std::path::PathBuf>) -> Router {
    documents().layer(FenceLayer::in_directory(directory))
}

async fn read(
    State(documents): State<Documents>,
    Path(name): Path<String>,
) -> Result<String, StatusCode> {
    let documents = documents.lock().expect("no panic");
    documents.get(&name).cloned().ok_or(StatusCode::NOT_FOUND)
}

async fn write(State(documents): State<Documents>, Path(name): Path<String>, text: String) {
    documents.lock().expect("no panic").insert(name, text);
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let directory = arguments.next().unwrap_or_else(|| "fences".to_owned());
    std::fs::create_dir_all(&directory)?;
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, fenced(directory)).await
}
