//! Live page of a cluster or a node.
//!
//! A separate thread reads traces while they are written, and serves the page. Viewers therefore do
//! not slow down the workload. Each message to a page contains everything that the page shows. A
//! viewer who misses messages or reconnects loses nothing.

#[cfg(feature = "page")]
mod server;
#[cfg(feature = "page")]
mod status;

#[cfg(feature = "page")]
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde::Serialize;
use serde_json::Value;
use tenure_trace::live::TraceTail;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::config::DataDirectoryConfig;
use crate::status::NodeObserver;

/// Returns the path of the file that contains the token of a node's page. Visitors of a page need a
/// token if other machines can reach the page.
pub fn access_token_file(store: &DataDirectoryConfig) -> PathBuf {
    store.directory.join("page.token")
}

/// Description of the run that a page shows.
#[derive(Clone, Debug, Serialize)]
pub struct PageRunInfo {
    /// Title of the page.
    pub title: String,
    /// Name of the mutual exclusion algorithm, such as `lamport` or `coordinated:raft`.
    pub mutex: String,
    /// Name of the election algorithm, such as `raft`.
    pub election: String,
    /// Number of nodes.
    pub size: u32,
    /// Number of the node whose view the page shows, from 1. `None`: the page shows a whole
    /// cluster.
    pub own: Option<u32>,
}

/// Source of the events that a page shows.
#[derive(Debug)]
pub enum PageEventSource {
    /// Trace files of a cluster, which are read while they are written.
    Files(Vec<TraceTail>),
    /// Records of a node that runs in this process.
    Node(Box<NodeObserver>),
}

impl PageEventSource {
    /// Returns a source that reads the traces at these paths. The files need not exist yet.
    pub fn from_trace_files(paths: Vec<PathBuf>) -> Self {
        PageEventSource::Files(paths.into_iter().map(TraceTail::new).collect())
    }

    /// Reads the events that were recorded since the last call, and passes them to `view`.
    #[cfg(feature = "page")]
    fn read(&mut self, view: &mut tenure_trace::live::LiveView) {
        match self {
            PageEventSource::Files(tails) => {
                for tail in tails {
                    if let Err(error) = tail.read_into(view) {
                        tracing::warn!(path = %tail.path().display(), %error, "cannot read trace");
                    }
                }
            }
            PageEventSource::Node(observer) => {
                observer.read_new_records(|record| view.apply_record(record))
            }
        }
    }

    /// Returns the status of the node; `None` if the source is not a node.
    #[cfg(feature = "page")]
    fn status(&self) -> Option<crate::status::NodeStatus> {
        match self {
            PageEventSource::Files(_) => None,
            PageEventSource::Node(observer) => observer.status(),
        }
    }
}

/// Error while opening a page. Nothing is left running.
#[derive(Debug, Error)]
pub enum LivePageError {
    /// The web server did not start.
    #[cfg(feature = "page")]
    #[error(transparent)]
    Server(#[from] tenure_web::StartError),
    /// This build has no support for pages.
    #[error("this build has no support for pages: enable the feature `page` of tenure")]
    Absent,
    /// The directory of the token, the thread of the page or its runtime could not be created.
    #[error("cannot serve the page: {0}")]
    System(#[from] std::io::Error),
}

impl LivePageError {
    /// Returns true if the configuration, the token file or the build must be corrected. Returns
    /// false if the cause may be the environment, such as a port in use.
    pub(crate) fn is_misconfiguration(&self) -> bool {
        match self {
            #[cfg(feature = "page")]
            LivePageError::Server(tenure_web::StartError::TokenFile { source, .. }) => {
                // The file is not private, or has no token.
                matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidData)
            }
            #[cfg(feature = "page")]
            LivePageError::Server(_) => false,
            LivePageError::Absent => true,
            LivePageError::System(_) => false,
        }
    }
}

/// Running page. If this value is dropped, the page sends a final update without results and stops.
/// The drop does not wait for the end of the page.
#[derive(Debug)]
pub struct LivePage {
    url: String,
    finish: oneshot::Sender<Value>,
    thread: JoinHandle<()>,
}

impl LivePage {
    /// Serves a page with the events of `source`.
    ///
    /// If the page listens beyond this machine, viewers need a token. The page reads the token from
    /// the file `token_file`, which is created if it is missing. If `token_file` is `None`, the
    /// function draws a new token.
    ///
    /// # Errors
    ///
    /// [`LivePageError`]. Nothing is left running then.
    #[cfg(feature = "page")]
    pub fn start(
        listen: SocketAddr,
        token_file: Option<PathBuf>,
        run_info: PageRunInfo,
        source: PageEventSource,
    ) -> Result<Self, LivePageError> {
        use std::sync::mpsc::sync_channel;
        use std::thread;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ready, is_ready) = sync_channel(1);
        let (finish, finished) = oneshot::channel();
        let thread = thread::Builder::new().name("page".into()).spawn(move || {
            runtime.block_on(server::serve(listen, token_file, run_info, source, ready, finished));
        })?;
        let bound = is_ready.recv().map_err(std::io::Error::other)?;
        Ok(LivePage { url: bound?, finish, thread })
    }

    /// Fails, because this build has no support for pages.
    ///
    /// # Errors
    ///
    /// [`LivePageError::Absent`], always.
    #[cfg(not(feature = "page"))]
    pub fn start(
        _: SocketAddr,
        _: Option<PathBuf>,
        _: PageRunInfo,
        _: PageEventSource,
    ) -> Result<Self, LivePageError> {
        Err(LivePageError::Absent)
    }

    /// Returns the URL of the page, including the token if viewers need one.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends the final result to all viewers, and waits until the page has stopped. `verdicts`
    /// contains the results of the monitors. Without results, `verdicts` is null. With results, it
    /// has the form `{"held": …, "summary": …}` or `{"held": false, "failed": …}`.
    pub fn finish(self, verdicts: &Value) {
        // The page may have stopped already.
        let _ = self.finish.send(verdicts.clone());
        let _ = self.thread.join();
    }
}
