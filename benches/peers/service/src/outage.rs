//! Time without service for clients when the leader fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::Options;
use crate::cluster::{Cluster, MEMBERS};
use crate::side::{Claimant, Side};

/// Number of clients with a lock of their own. The same number of further clients share one lock.
const CLIENTS: usize = 3;

const OUTAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for which waiting clients are observed after the outage.
const OBSERVATION_PERIOD: Duration = Duration::from_secs(1);

/// Time for which clients run without faults before the leader fails.
const CALM_PERIOD: Duration = Duration::from_millis(1500);

/// Faults of the leader. `None` is the baseline: without a fault, clients wait only for each other.
const FAULTS: [(&str, Option<Signal>); 3] = [
    ("is left alone", None),
    ("is killed", Some(Signal::KILL)),
    ("is sent TERM", Some(Signal::TERM)),
];

pub async fn table(sides: &[Side], options: &Options) {
    println!(
        "| the leader | side | times | median | p99 | longest |\n|---|---|---:|---:|---:|---:|"
    );
    for side in sides {
        let folder = tempfile::tempdir_in(&options.place).expect("a folder");
        let mut cluster = Cluster::start(side.kind(), &options.programs, folder.path()).await;
        let (load, mut entries) = LockLoad::start(*side, &cluster, options.pause).await;
        for (name, signal) in FAULTS {
            if options.leaves_out(name) {
                continue;
            }
            let mut waits = Vec::new();
            for _ in 0..options.kills {
                waits.extend(measure_outage(&mut cluster, signal, &mut entries).await);
            }
            waits.sort_unstable();
            let part = |of: f64| waits[((waits.len() - 1) as f64 * of).round() as usize];
            let (times, side) = (options.kills, side.name());
            let (median, most, longest) = (part(0.5), part(0.99), part(1.0));
            println!("| {name} | {side} | {times} | {median:.0?} | {most:.0?} | {longest:.0?} |");
        }
        load.end().await;
    }
    println!();
}

/// Receiver of completed cycles. For each cycle: the number of the client, and the start and the
/// end of the cycle.
type Entries = mpsc::UnboundedReceiver<(usize, Instant, Instant)>;

/// Returns the longest time between two cycles, for each client with its own lock. The last element
/// is the longest time between two cycles of the shared lock, by any client.
async fn measure_outage(
    cluster: &mut Cluster,
    signal: Option<Signal>,
    entries: &mut Entries,
) -> Vec<Duration> {
    let leader = cluster.leader().await;
    sleep(CALM_PERIOD).await;
    while entries.try_recv().is_ok() {}
    let started = Instant::now();
    if let Some(signal) = signal {
        cluster.signal(leader, signal);
    }
    let (mut last, mut waits) = ([started; CLIENTS + 1], [Duration::ZERO; CLIENTS + 1]);
    let all = async {
        while last.iter().any(|last| *last < started + OBSERVATION_PERIOD) {
            let (who, since, at) = entries.recv().await.expect("clients go on");
            let who = who.min(CLIENTS);
            waits[who] = waits[who].max(at.saturating_duration_since(since.max(last[who])));
            last[who] = at;
        }
    };
    timeout(OUTAGE_TIMEOUT, all).await.expect("there is service again");
    if signal.is_some() {
        cluster.wait_ended(leader);
        cluster.restart(leader);
    }
    waits.into()
}

struct LockLoad {
    is_stopped: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl LockLoad {
    async fn start(side: Side, cluster: &Cluster, pause: Duration) -> (LockLoad, Entries) {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (reports, entries) = mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for client in 0..2 * CLIENTS {
            let name = format!("outage/{}", client.min(CLIENTS));
            let first = client % MEMBERS;
            let mut claimant = Claimant::start(side, cluster.clients(), first, &name).await;
            let (is_stopped, reports) = (is_stopped.clone(), reports.clone());
            tasks.push(tokio::spawn(async move {
                while !is_stopped.load(Ordering::Relaxed) {
                    let since = Instant::now();
                    claimant.cycle_until_success().await;
                    let _ = reports.send((client, since, Instant::now()));
                    sleep(pause).await;
                }
            }));
        }
        (LockLoad { is_stopped, tasks }, entries)
    }

    async fn end(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        for task in self.tasks {
            let _ = task.await;
        }
    }
}
