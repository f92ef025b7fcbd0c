//! How long clients are without service when the leader goes.

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

/// Clients, each with a lock of its own, and as many that share one.
const CLIENTS: usize = 3;

/// How long is waited for service at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// For how long it is looked at who waits for what.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// How long nothing happens before the leader goes.
const CALM: Duration = Duration::from_millis(1500);

/// What happens to the leader. That nothing does is for comparison: whoever is busy waits as well.
const FATES: [(&str, Option<Signal>); 3] = [
    ("is left alone", None),
    ("is killed", Some(Signal::KILL)),
    ("is sent TERM", Some(Signal::TERM)),
];

/// Prints what it takes each side.
pub async fn table(sides: &[Side], options: &Options) {
    println!(
        "| the leader | side | times | median | p99 | longest |\n|---|---|---:|---:|---:|---:|"
    );
    for side in sides {
        let folder = tempfile::tempdir_in(&options.place).expect("a folder");
        let mut cluster = Cluster::start(side.kind(), &options.programs, folder.path()).await;
        let (load, mut entries) = Load::begin(*side, &cluster, options.pause).await;
        for (name, signal) in FATES {
            if options.leaves_out(name) {
                continue;
            }
            let mut waits = Vec::new();
            for _ in 0..options.kills {
                waits.extend(gone(&mut cluster, signal, &mut entries).await);
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

/// Who began a cycle when, and when it had left the lock again.
type Entries = mpsc::UnboundedReceiver<(usize, Instant, Instant)>;

/// The longest that each client, and those who share a lock as one, wanted to enter and leave a
/// lock and did not.
async fn gone(
    cluster: &mut Cluster,
    signal: Option<Signal>,
    entries: &mut Entries,
) -> Vec<Duration> {
    let leader = cluster.led().await;
    sleep(CALM).await;
    while entries.try_recv().is_ok() {}
    let begun = Instant::now();
    if let Some(signal) = signal {
        cluster.signal(leader, signal);
    }
    let (mut last, mut waits) = ([begun; CLIENTS + 1], [Duration::ZERO; CLIENTS + 1]);
    let all = async {
        while last.iter().any(|last| *last < begun + AFTERWARDS) {
            let (who, since, at) = entries.recv().await.expect("clients go on");
            let who = who.min(CLIENTS);
            waits[who] = waits[who].max(at.saturating_duration_since(since.max(last[who])));
            last[who] = at;
        }
    };
    timeout(PATIENCE, all).await.expect("there is service again");
    if signal.is_some() {
        cluster.bury(leader);
        cluster.restart(leader);
    }
    waits.into()
}

/// Clients that enter and leave locks all the time.
struct Load {
    is_over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    async fn begin(side: Side, cluster: &Cluster, pause: Duration) -> (Load, Entries) {
        let is_over = Arc::new(AtomicBool::new(false));
        let (told, entries) = mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for client in 0..2 * CLIENTS {
            let name = format!("outage/{}", client.min(CLIENTS));
            let first = client % MEMBERS;
            let mut claimant = Claimant::begin(side, cluster.clients(), first, &name).await;
            let (is_over, told) = (is_over.clone(), told.clone());
            tasks.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let since = Instant::now();
                    claimant.cycle_at_last().await;
                    let _ = told.send((client, since, Instant::now()));
                    sleep(pause).await;
                }
            }));
        }
        (Load { is_over, tasks }, entries)
    }

    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            let _ = task.await;
        }
    }
}
