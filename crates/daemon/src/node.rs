//! Runs a node as a process of its own, for `tenure node`.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tenure_runtime::transport::{MeshView, ReloadableKeys};
use tenure_runtime::{ElectionHandle, RunningNode};
use tenure_trace::Record;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::boot::{Node, NodeError, task_result};
use crate::config::Config;
use crate::keys;
use crate::page::{LivePage, LivePageError, PageEventSource, PageRunInfo};
use crate::progress::{ChangeReporter, report_changes};
use crate::protocol::ProtocolFactory;
use crate::report::NodeEvent;
use crate::status::{NodeInfo, NodeObserver};
use crate::workload::{self, WorkloadStats};

/// Maximum time that a node waits for connections to all peers before it starts the first election.
const PEER_TIMEOUT: Duration = Duration::from_secs(1);

/// Selection of the events that a node reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeEventOptions {
    /// True if the node reports each time that its workload enters the critical section.
    pub report_grants: bool,
}

/// Runs a node until `stop` resolves, and passes its events to `on_event`. `factory` makes the
/// protocol that the configuration names.
///
/// # Errors
///
/// [`NodeError`]. The saved state stays valid, and nothing is left running.
pub async fn run_node(
    config: Config,
    factory: ProtocolFactory,
    options: NodeEventOptions,
    stop: impl Future<Output = ()> + Send,
    mut on_event: impl FnMut(NodeEvent) + Send,
) -> Result<(), NodeError> {
    run_boxed(config, factory, options, pin!(stop), &mut on_event).await
}

/// Returns the future of a node in a box. Without a box, the code of an `async fn` is compiled in
/// the crate that polls the future. Because of the box, the code of the node is compiled in this
/// crate.
fn run_boxed<'a>(
    config: Config,
    factory: ProtocolFactory,
    options: NodeEventOptions,
    stop: Stop<'a>,
    report: NodeEventSink<'a>,
) -> Pin<Box<dyn Future<Output = Result<(), NodeError>> + Send + 'a>> {
    Box::pin(run_until(config, factory, options, stop, report))
}

type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>;

pub(crate) type NodeEventSink<'a> = &'a mut (dyn FnMut(NodeEvent) + Send + 'a);

async fn run_until(
    config: Config,
    factory: ProtocolFactory,
    options: NodeEventOptions,
    stop: Stop<'_>,
    report: NodeEventSink<'_>,
) -> Result<(), NodeError> {
    let info = NodeInfo::new(&config);
    let page = page(&config, &info)?;
    let (page, watcher) = page.unzip();
    let started = Node::start_with_watcher(&config, factory, watcher)?;
    let Node { lock, election, running, session, reloadable_keys, .. } = started;
    let RunningNode { address, view, saves, live_peers, mut task } = running;
    info.set_running(session, view.clone(), saves);
    let me = config.me();
    report(NodeEvent::Ready { process: me.number(), address, session });
    if let Some(page) = &page {
        report(NodeEvent::Page { url: page.url().to_owned() });
    }
    let (sender, grants) = unbounded_channel();
    let stats = WorkloadStats::new(options.report_grants.then_some(sender));
    let higher = u64::from(config.size() - me.number());
    let turn = Duration::from_millis(higher * config.detector.message_ms);
    let mut worker = {
        let (plan, stats, election) = (config.work.clone(), stats.clone(), election.clone());
        tokio::spawn(async move {
            start_first_election(view, election, turn).await;
            match plan {
                Some(plan) => workload::run(plan, me, lock, stats).await,
                // Keeps the lock: without users the node would stop.
                None => std::future::pending().await,
            }
        })
    };
    let has_work = config.work.is_some();
    let reporter = ChangeReporter { election, live_peers, has_work, stats, grants };
    let ended = tokio::select! {
        () = stop => Ok(()),
        failed = report_changes(reporter, &mut worker, report) => Err(failed),
        never = reload_keys(&config, reloadable_keys) => match never {},
        stopped = &mut task => return Ok(task_result(stopped)?),
    };
    tracing::info!(process = %me, "shutting down");
    leave(worker, task).await?;
    if let Some(page) = page {
        page.finish(&serde_json::Value::Null);
    }
    ended
}

/// Ends the workload, and thereby drops the last handles of the node. Then waits until the node
/// stops. If the node leads, it hands over leadership before it stops.
async fn leave<W>(
    worker: JoinHandle<W>,
    task: JoinHandle<Result<(), tenure_runtime::NodeFailure>>,
) -> Result<(), NodeError> {
    if !worker.is_finished() {
        worker.abort();
        let _ = worker.await;
    }
    Ok(task_result(task.await)?)
}

/// Reads the key files again at each SIGHUP. If the files are invalid, the node keeps its previous
/// keys. Does nothing if the node uses no keys.
async fn reload_keys(config: &Config, reloadable_keys: Option<ReloadableKeys>) -> Infallible {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return std::future::pending().await;
    };
    while hangup.recv().await.is_some() {
        let keys = keys::read_keys(&config.cluster, config.me());
        match (keys, &reloadable_keys) {
            (Ok(Some(keys)), Some(reloadable_keys)) => {
                reloadable_keys.replace(keys);
                tracing::info!("keys reloaded");
            }
            (Ok(_), _) => tracing::info!("no keys to reload"),
            (Err(error), _) => tracing::warn!(%error, "keys not reloaded"),
        }
    }
    std::future::pending().await
}

/// Opens the live page if the configuration has one. Returns the page, and the sender by which the
/// page receives the records of the node.
fn page(
    config: &Config,
    info: &Arc<NodeInfo>,
) -> Result<Option<(LivePage, Sender<Record>)>, LivePageError> {
    let Some(page) = &config.page else { return Ok(None) };
    let page_info = PageRunInfo {
        title: format!("{} of {}", config.me(), config.cluster.name),
        mutex: config.service.mutex.clone(),
        election: config.service.election.clone(),
        size: config.size(),
        own: Some(config.me().number()),
    };
    let (sender, records) = channel();
    // The token is stored, so that the address of the page survives a restart.
    let token = config.store.directory.join("page.token");
    let source = PageEventSource::Node(Box::new(NodeObserver::new(info.clone(), records)));
    LivePage::open(page.listen, Some(token), page_info, source).map(|page| Some((page, sender)))
}

/// Waits until all peers are connected, but at most for [`PEER_TIMEOUT`]. Then starts an election,
/// unless this node knows a leader.
///
/// The node with the highest number starts at once. A node with a lower number first waits for the
/// time `turn`, and starts no election if it learns of a leader meanwhile. If all nodes started at
/// once, each would cause an election.
async fn start_first_election(view: MeshView, mut election: ElectionHandle, turn: Duration) {
    let deadline = Instant::now() + PEER_TIMEOUT;
    while Instant::now() < deadline && !view.peers().iter().all(|peer| peer.is_connected) {
        sleep(Duration::from_millis(2)).await;
    }
    if election.current_term().is_none()
        && timeout(turn, election.wait_for_term_change()).await.is_err()
    {
        let _ = election.start_election();
    }
}
