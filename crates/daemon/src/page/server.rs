//! The thread that serves a page.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::Value;
use tenure_trace::diagram::{ELEMENTS, PALETTE};
use tenure_trace::live::{Snapshot, View};
use tenure_trace::now;
use tenure_web::axum::Router;
use tenure_web::axum::response::sse::{Event, KeepAlive, Sse};
use tenure_web::axum::routing::get;
use tenure_web::{Asset, Server, WebError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::status::{self, Question};
use super::{About, Source};

/// How often a page is told what has changed: often enough for eyes, seldom enough for a cluster
/// that wants the processors for itself.
const EVERY: Duration = Duration::from_millis(250);

/// How many may ask at a time how the node is; others wait.
const QUESTIONS: usize = 8;

const ASSETS: [Asset; 6] = [
    Asset::html("/", include_str!("live.html")),
    Asset::css("/palette.css", PALETTE),
    Asset::css("/live.css", include_str!("live.css")),
    Asset::script("/element.js", ELEMENTS),
    Asset::script("/strip.js", include_str!("strip.js")),
    Asset::script("/live.js", include_str!("live.js")),
];

/// All that a page is told, each time.
#[derive(Serialize)]
struct Told<'a> {
    about: &'a About,
    view: Snapshot,
    /// Null until it is over.
    verdicts: &'a Value,
    /// Nothing more will come.
    last: bool,
}

/// Serves until it is finished, and tells first whether it can.
pub(super) async fn serve(
    listen: SocketAddr,
    token: Option<PathBuf>,
    about: About,
    source: Source,
    ready: SyncSender<Result<String, WebError>>,
    finished: oneshot::Receiver<Value>,
) {
    let bound = match token {
        Some(file) => Server::bind_keeping(listen.ip(), listen.port(), &file).await,
        None => Server::bind(listen.ip(), listen.port()).await,
    };
    let server = match bound {
        Ok(server) => server,
        Err(error) => {
            // Whoever asked for the page waits for this answer.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(server.url()));
    let (tell, told) = watch::channel(Arc::<str>::from(""));
    let mut routes = Router::new().route("/api/live", get(async move || stream(told)));
    let (ask, asked) = mpsc::channel(QUESTIONS);
    if matches!(source, Source::Node(_)) {
        routes = routes.merge(status::routes(&ask));
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let telling = async move {
        follow(about, source, tell, asked, finished).await;
        drop(stop);
    };
    let stopped = async move {
        let _ = stopped.await;
    };
    let serving = server.serve(&ASSETS, routes, stopped);
    tokio::join!(telling, serving);
}

/// Tells whoever looks, again and again, and a last time in the end; answers whoever asks.
async fn follow(
    about: About,
    mut source: Source,
    tell: watch::Sender<Arc<str>>,
    mut asked: mpsc::Receiver<Question>,
    mut finished: oneshot::Receiver<Value>,
) {
    let mut view = View::new(about.size);
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let verdicts = tokio::select! {
            Some(question) = asked.recv() => {
                source.read(&mut view);
                // Whoever asked may have gone.
                let _ = question.send(source.status());
                continue;
            }
            _ = ticks.tick() => None,
            verdicts = &mut finished => Some(verdicts.unwrap_or(Value::Null)),
        };
        source.read(&mut view);
        let last = verdicts.is_some();
        let told = Told {
            about: &about,
            view: view.snapshot(now()),
            verdicts: verdicts.as_ref().unwrap_or(&Value::Null),
            last,
        };
        let text = serde_json::to_string(&told).expect("a snapshot can be written as JSON");
        tell.send_replace(text.into());
        if last {
            return;
        }
    }
}

/// Everything that is told from now on, beginning with what was told last.
fn stream(
    told: watch::Receiver<Arc<str>>,
) -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let events = unfold((told, true), async |(mut told, first)| {
        if first {
            told.mark_unchanged();
        } else {
            told.changed().await.ok()?;
        }
        let text = told.borrow_and_update().clone();
        Some((Ok(Event::default().data(text)), (told, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
