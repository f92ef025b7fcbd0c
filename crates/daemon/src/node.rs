//! Runs a node as a process of its own, for `tenure node`.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tenure_runtime::store::create_directory_durably;
use tenure_runtime::transport::{MeshStatus, ReplaceableKeys};
use tenure_runtime::{ElectionHandle, RunningNode};
use tenure_trace::Record;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::boot::{Node, NodeError, task_result};
use crate::config::Config;
use crate::keys;
use crate::page::{LivePage, LivePageError, PageEventSource, PageRunInfo, access_token_file};
use crate::progress::{ChangeSources, LivenessReporter, report_changes};
use crate::protocol::ProtocolFactory;
use crate::report::NodeEvent;
use crate::status::{NodeInfo, NodeObserver};
use crate::workload::{self, WorkloadStats};

/// Maximum time for which a node waits for connections to all peers before it starts the first
/// election.
const PEER_TIMEOUT: Duration = Duration::from_secs(1);

/// Selection of the events that a node reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeEventOptions {
    /// True if the node reports [`NodeEvent::Granted`] each time that its workload enters the
    /// critical section.
    pub report_grants: bool,
    /// Interval of the events [`NodeEvent::Alive`], for a watchdog. The events stop while a save
    /// takes longer than this interval. `None` or 0: there are no such events.
    pub liveness_interval: Option<Duration>,
}

/// Runs a node until `stop` resolves or the node or its workload fails. Passes the events of the
/// node to `on_event`. `factory` returns the protocol that the configuration names.
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

/// Returns the future of [`run_until`] in a box, so that its code is compiled in this crate. The
/// code of an unboxed `async fn` is compiled in the crate that polls the future.
fn run_boxed<'a>(
    config: Config,
    factory: ProtocolFactory,
    options: NodeEventOptions,
    stop: Stop<'a>,
    on_event: NodeEventSink<'a>,
) -> Pin<Box<dyn Future<Output = Result<(), NodeError>> + Send + 'a>> {
    Box::pin(run_until(config, factory, options, stop, on_event))
}

type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>;

pub(crate) type NodeEventSink<'a> = &'a mut (dyn FnMut(NodeEvent) + Send + 'a);

async fn run_until(
    config: Config,
    factory: ProtocolFactory,
    options: NodeEventOptions,
    stop: Stop<'_>,
    on_event: NodeEventSink<'_>,
) -> Result<(), NodeError> {
    // The handler of SIGHUP is installed first. Without a handler, the signal would end the
    // process.
    let hangup = signal(SignalKind::hangup()).ok();
    config.check()?;
    let info = NodeInfo::new(&config);
    let (page, watcher) = page(&config, &info)?.unzip();
    let run = async {
        let node = Node::start_with_watcher(&config, factory, watcher)?;
        let RunningNode { address, mesh_handle, save_metrics: saves, .. } = &node.running;
        info.set_running(node.session, mesh_handle.clone(), saves.clone());
        let (process, session) = (config.me().display_number(), node.session);
        on_event(NodeEvent::Ready { process, address: *address, session });
        if let Some(page) = &page {
            on_event(NodeEvent::Page { url: page.url().to_owned() });
        }
        run_started(&config, node, options, stop, hangup, on_event).await
    };
    let ended = run.await;
    if let Some(page) = page {
        page.finish(&serde_json::Value::Null);
    }
    ended
}

/// Runs a started node until `stop` resolves, or until the node or its workload fails. Then stops
/// the node and its workload.
async fn run_started(
    config: &Config,
    node: Node,
    options: NodeEventOptions,
    stop: Stop<'_>,
    hangup: Option<Signal>,
    on_event: NodeEventSink<'_>,
) -> Result<(), NodeError> {
    let Node { lock, election, running, reloadable_keys, .. } = node;
    let RunningNode { mesh_handle, save_metrics: saves, live_peers, mut task, .. } = running;
    let me = config.me();
    let (sender, grants) = unbounded_channel();
    let stats = WorkloadStats::new(options.report_grants.then_some(sender));
    let higher = u64::from(config.node_count() - me.display_number());
    let turn = Duration::from_millis(higher * config.detector.message_ms);
    let mut worker = {
        let (plan, stats, election) = (config.work.clone(), stats.clone(), election.clone());
        tokio::spawn(async move {
            start_first_election(mesh_handle, election, turn).await;
            match plan {
                Some(plan) => workload::run(plan, me, lock, stats).await,
                // Keeps `lock` alive: the node stops when the last handle is dropped.
                None => std::future::pending().await,
            }
        })
    };
    let has_work = config.work.is_some();
    let mut liveness = LivenessReporter::new(saves, options.liveness_interval);
    let reporter =
        ChangeSources { liveness: &mut liveness, election, live_peers, has_work, stats, grants };
    let (ended, stopped) = tokio::select! {
        () = stop => (Ok(()), None),
        failed = report_changes(reporter, &mut worker, on_event) => (Err(failed), None),
        never = reload_keys(config, reloadable_keys, hangup) => match never {},
        stopped = &mut task => (Ok(()), Some(stopped)),
    };
    if stopped.is_none() {
        tracing::info!(process = %me, "shutting down");
    }
    let leave = async {
        end_worker(worker).await;
        match stopped {
            Some(stopped) => stopped,
            None => task.await,
        }
    };
    let stopped = tokio::select! {
        stopped = leave => stopped,
        never = liveness.report(on_event) => match never {},
    };
    task_result(stopped)?;
    ended
}

/// Ends the workload, and thereby drops the last handles of the node. The node then shuts down. If
/// the node leads, it hands over leadership first.
async fn end_worker<W>(worker: JoinHandle<W>) {
    if !worker.is_finished() {
        worker.abort();
        let _ = worker.await;
    }
}

/// Reads the key files again at each SIGHUP. If the files are invalid, the node keeps its previous
/// keys. Does nothing if the node uses no keys.
async fn reload_keys(
    config: &Config,
    reloadable_keys: Option<ReplaceableKeys>,
    hangup: Option<Signal>,
) -> Infallible {
    let Some(mut hangup) = hangup else { return std::future::pending().await };
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
        election: config.election_name().to_owned(),
        size: config.node_count(),
        own: Some(config.me().display_number()),
    };
    let (sender, records) = channel();
    // The token is stored, so that the address of the page survives a restart. Its directory is the
    // directory of the state, and must survive a power failure.
    create_directory_durably(&config.store.directory)?;
    let token = access_token_file(&config.store);
    let source = PageEventSource::Node(Box::new(NodeObserver::new(info.clone(), records)));
    LivePage::start(page.listen, Some(token), page_info, source).map(|page| Some((page, sender)))
}

/// Starts an election, unless this node learns of a leader first. The node waits until all peers
/// are connected, for at most [`PEER_TIMEOUT`]. It then waits for the time `turn`.
///
/// `turn` is 0 for the node with the highest number, and grows for lower numbers. Without it, all
/// nodes would start elections at the same time.
async fn start_first_election(mesh: MeshStatus, mut election: ElectionHandle, turn: Duration) {
    let deadline = Instant::now() + PEER_TIMEOUT;
    while Instant::now() < deadline && !mesh.peers().iter().all(|peer| peer.is_connected) {
        sleep(Duration::from_millis(2)).await;
    }
    if election.leader_term().is_none()
        && timeout(turn, election.wait_for_leader_change()).await.is_err()
    {
        let _ = election.start_election();
    }
}
