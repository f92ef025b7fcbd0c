//! A small object store with the conditional requests of S3, as a resource for
//! `examples/guards/object.sh`.
//!
//! GET returns an object with its `ETag`. PUT with `If-Match` replaces the object if the object has
//! this tag. PUT with `If-None-Match: *` creates the object if it does not exist yet. If the
//! condition of a PUT is not met, the status is 412.
//!
//! `cargo run -p tenure --example 07_object_store -- 127.0.0.1:8080`
#![allow(clippy::print_stdout, reason = "an example prints its address")]

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

type Objects = Arc<Mutex<HashMap<String, Bytes>>>;

/// Returns an empty object store.
pub(crate) fn router() -> Router {
    Router::new().route("/{bucket}/{*key}", get(read).put(write)).with_state(Objects::default())
}

async fn read(State(objects): State<Objects>, Path(path): Path<(String, String)>) -> Response {
    let objects = objects.lock().expect("no panic");
    match objects.get(&name(&path)) {
        Some(object) => ([(header::ETAG, tag(object))], object.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn write(
    State(objects): State<Objects>,
    Path(path): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let condition = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // The comparison and the write are one step, because the map is locked.
    let mut objects = objects.lock().expect("no panic");
    let current = objects.get(&name(&path)).map(tag);
    let is_changed = condition(header::IF_MATCH).is_some_and(|it| Some(it) != current.as_deref());
    let is_present = condition(header::IF_NONE_MATCH) == Some("*") && current.is_some();
    if is_changed || is_present {
        return StatusCode::PRECONDITION_FAILED.into_response();
    }
    let tag = tag(&body);
    objects.insert(name(&path), body);
    [(header::ETAG, tag)].into_response()
}

fn name((bucket, key): &(String, String)) -> String {
    format!("{bucket}/{key}")
}

/// Returns the tag of an object, which is a hash of its contents. As in S3, equal contents have
/// equal tags.
fn tag(object: &Bytes) -> String {
    let mut hasher = DefaultHasher::new();
    object.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, router()).await
}
