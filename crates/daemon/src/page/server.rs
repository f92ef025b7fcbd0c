//! Thread that serves a page.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::Value;
use tenure_trace::diagram::{ELEMENT_HELPERS_JS, PALETTE_CSS};
use tenure_trace::live::{LiveSnapshot, LiveView};
use tenure_trace::unix_time_nanos;
use tenure_web::axum::Router;
use tenure_web::axum::response::sse::{Event, KeepAlive, Sse};
use tenure_web::axum::routing::get;
use tenure_web::{Asset, Server, StartError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::status::{self, StatusRequest};
use super::{PageEventSource, PageRunInfo};

/// Time between two updates of a page. It is short enough for viewers, and leaves enough processor
/// time to the cluster.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

const MAX_STATUS_REQUESTS: usize = 8;

const ASSETS: [Asset; 6] = [
    Asset::html("/", include_str!("live.html")),
    Asset::css("/palette.css", PALETTE_CSS),
    Asset::css("/live.css", include_str!("live.css")),
    Asset::script("/element.js", ELEMENT_HELPERS_JS),
    Asset::script("/strip.js", include_str!("strip.js")),
    Asset::script("/live.js", include_str!("live.js")),
];

/// Message that the page receives after each update interval, and once after the run.
#[derive(Serialize)]
struct PageUpdate<'a> {
    about: &'a PageRunInfo,
    view: LiveSnapshot,
    /// Results of the monitors; null until the run is over.
    verdicts: &'a Value,
    /// True in the update after the run.
    last: bool,
}

/// Binds a server and serves a page until `finished` resolves and the final update was sent. Sends
/// the URL of the page to `ready` as soon as the server is bound. If the server cannot be bound,
/// sends the error and returns.
pub(super) async fn serve(
    listen: SocketAddr,
    token_file: Option<PathBuf>,
    run_info: PageRunInfo,
    source: PageEventSource,
    ready: SyncSender<Result<String, StartError>>,
    finished: oneshot::Receiver<Value>,
) {
    let bound = match token_file {
        Some(file) => Server::bind_with_token_file(listen.ip(), listen.port(), &file).await,
        None => Server::bind(listen.ip(), listen.port()).await,
    };
    let server = match bound {
        Ok(server) => server,
        Err(error) => {
            // The caller of the thread waits for this result, so the send succeeds.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(server.url_with_token()));
    let (updates, receiver) = watch::channel(Arc::<str>::from(""));
    let mut routes = Router::new().route("/api/live", get(async move || stream(receiver)));
    let (sender, requests) = mpsc::channel(MAX_STATUS_REQUESTS);
    if matches!(source, PageEventSource::Node(_)) {
        routes = routes.merge(status::routes(&sender));
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let updating = async move {
        follow(run_info, source, updates, requests, finished).await;
        drop(stop);
    };
    let stopped = async move {
        let _ = stopped.await;
    };
    let serving = server.serve(&ASSETS, routes, stopped);
    tokio::join!(updating, serving);
}

/// Sends an update to all viewers after each interval. When the run finishes, sends the final
/// update and returns. In the meantime, responds to status requests.
async fn follow(
    about: PageRunInfo,
    mut source: PageEventSource,
    updates: watch::Sender<Arc<str>>,
    mut requests: mpsc::Receiver<StatusRequest>,
    mut finished: oneshot::Receiver<Value>,
) {
    let mut view = LiveView::new(about.size);
    let mut ticks = interval(UPDATE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let verdicts = tokio::select! {
            Some(request) = requests.recv() => {
                source.read(&mut view);
                // The client may be gone.
                let _ = request.send(source.status());
                continue;
            }
            _ = ticks.tick() => None,
            verdicts = &mut finished => Some(verdicts.unwrap_or(Value::Null)),
        };
        source.read(&mut view);
        let last = verdicts.is_some();
        let update = PageUpdate {
            about: &about,
            view: view.prune_and_snapshot(unix_time_nanos()),
            verdicts: verdicts.as_ref().unwrap_or(&Value::Null),
            last,
        };
        let text = serde_json::to_string(&update).expect("a snapshot has a text in JSON");
        updates.send_replace(text.into());
        if last {
            return;
        }
    }
}

/// Returns a stream of updates, beginning with the latest update.
fn stream(
    updates: watch::Receiver<Arc<str>>,
) -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let events = unfold((updates, true), async |(mut updates, first)| {
        if first {
            updates.mark_unchanged();
        } else {
            updates.changed().await.ok()?;
        }
        let text = updates.borrow_and_update().clone();
        Some((Ok(Event::default().data(text)), (updates, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
