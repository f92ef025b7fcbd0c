//! What a cluster or a node does, on a page, while it does it.
//!
//! A thread of its own reads the traces as they are written and serves the page, so that nobody
//! who does the work waits for those who look. Each message to a page tells everything that it
//! shows: one that misses some of them, or comes back, has missed nothing.

#[cfg(feature = "page")]
mod server;
#[cfg(feature = "page")]
mod status;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde::Serialize;
use serde_json::Value;
use tenure_trace::live::Tail;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::status::Observer;

/// What a page says of the run that it shows.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// What runs.
    pub title: String,
    /// The lock.
    pub mutex: String,
    /// The election.
    pub election: String,
    /// How many nodes there are.
    pub size: u32,
    /// Of a page that shows what one node knows: its number, from 1.
    pub own: Option<u32>,
}

/// Where a page knows from what happens.
#[derive(Debug)]
pub enum Source {
    /// The traces of a cluster, as they are written.
    Files(Vec<Tail>),
    /// A node of this program.
    Node(Box<Observer>),
}

impl Source {
    /// The traces at these paths, which need not be there yet.
    pub fn files(paths: Vec<PathBuf>) -> Self {
        Source::Files(paths.into_iter().map(Tail::new).collect())
    }

    /// Takes note of what has happened since the last time.
    #[cfg(feature = "page")]
    fn read(&mut self, view: &mut tenure_trace::live::View) {
        match self {
            Source::Files(tails) => {
                for tail in tails {
                    if let Err(error) = tail.read(view) {
                        tracing::warn!("cannot read {}: {error}", tail.path().display());
                    }
                }
            }
            Source::Node(observer) => observer.read(|record| view.read(record)),
        }
    }

    /// How the node is, where it is one.
    #[cfg(feature = "page")]
    fn status(&self) -> Option<crate::status::NodeStatus> {
        match self {
            Source::Files(_) => None,
            Source::Node(observer) => observer.status(),
        }
    }
}

/// A page cannot be served; nothing was started.
#[derive(Debug, Error)]
pub enum PageError {
    /// The server did not start.
    #[cfg(feature = "page")]
    #[error(transparent)]
    Server(#[from] tenure_web::WebError),
    /// There is no server in this program.
    #[error("this program was built without pages; the feature `page` of tenure has them")]
    Absent,
    /// The system gave no thread or no runtime.
    #[error("the page cannot be served: {0}")]
    System(#[from] std::io::Error),
}

/// A page that is served. Dropping it stops it without a last word.
#[derive(Debug)]
pub struct LivePage {
    url: String,
    finish: oneshot::Sender<Value>,
    thread: JoinHandle<()>,
}

impl LivePage {
    /// Serves a page about what `source` tells. Beyond this machine it demands a token: the one in
    /// the file `token`, which is made where it is missing, or a new one.
    ///
    /// # Errors
    ///
    /// [`PageError`].
    #[cfg(feature = "page")]
    pub fn open(
        listen: SocketAddr,
        token: Option<PathBuf>,
        about: About,
        source: Source,
    ) -> Result<Self, PageError> {
        use std::sync::mpsc::sync_channel;
        use std::thread;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ready, is_ready) = sync_channel(1);
        let (finish, finished) = oneshot::channel();
        let thread = thread::Builder::new().name("page".into()).spawn(move || {
            runtime.block_on(server::serve(listen, token, about, source, ready, finished));
        })?;
        let bound = is_ready.recv().map_err(std::io::Error::other)?;
        Ok(LivePage { url: bound?, finish, thread })
    }

    /// Refuses: this program was built without pages.
    ///
    /// # Errors
    ///
    /// [`PageError::Absent`], always.
    #[cfg(not(feature = "page"))]
    pub fn open(_: SocketAddr, _: Option<PathBuf>, _: About, _: Source) -> Result<Self, PageError> {
        Err(PageError::Absent)
    }

    /// What to open in a browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Tells everybody who looks how it ended, and stops when they know: `verdicts` is null, or
    /// `{"held": …, "summary": …}`, or `{"held": false, "failed": …}`.
    pub fn finish(self, verdicts: &Value) {
        // A page that has stopped by itself needs no last word.
        let _ = self.finish.send(verdicts.clone());
        let _ = self.thread.join();
    }
}
