//! Number of sessions that a service can hold: leases of ten seconds, each renewed three times per
//! TTL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Options;
use crate::cluster::{Cluster, MEMBERS, memory};
use crate::recipe::{Leases, channel_to};
use crate::side::ServiceKind;

const LEASES_PER_CONNECTION: usize = 1000;

const DURATION: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct RenewalCounters {
    pub renewed: AtomicU64,
    /// Number of renewals of leases that had expired.
    pub expired: AtomicU64,
    /// Longest latency of a renewal, in microseconds.
    pub slowest: AtomicU64,
}

pub async fn report(options: &Options) {
    let folder = tempfile::tempdir_in(&options.place).expect("a folder");
    let cluster = Cluster::start(ServiceKind::Tenure, &options.programs, folder.path()).await;
    cluster.leader().await;
    sleep(Duration::from_secs(1)).await;
    let (seen, before) = (Arc::new(RenewalCounters::default()), memory(&cluster));
    let (mut granting, mut all) = (JoinSet::new(), Vec::new());
    let started = Instant::now();
    for place in 0..options.sessions.div_ceil(LEASES_PER_CONNECTION) {
        let channel = channel_to(cluster.clients()[place % MEMBERS]);
        granting.spawn(Leases::keep(channel, LEASES_PER_CONNECTION, seen.clone()));
        if granting.len() == 8 {
            all.extend(granting.join_next().await);
        }
    }
    all.extend(granting.join_all().await.into_iter().map(Ok));
    println!(
        "{} leases were granted in {:.1?}",
        all.len() * LEASES_PER_CONNECTION,
        started.elapsed()
    );
    let started = Instant::now();
    let (renewed, mut most) = (seen.renewed.load(Ordering::Relaxed), memory(&cluster));
    while started.elapsed() < DURATION {
        sleep(Duration::from_secs(5)).await;
        let now = memory(&cluster);
        most = std::array::from_fn(|at| most[at].max(now[at]));
    }
    let renewed = seen.renewed.load(Ordering::Relaxed) - renewed;
    let count = (all.len() * LEASES_PER_CONNECTION) as f64;
    let bytes = (0..MEMBERS).map(|at| (most[at] - before[at]) as f64 / count);
    let bytes: Vec<String> = bytes.map(|bytes| format!("{bytes:.0}")).collect();
    println!(
        "in {DURATION:?} {:.0} a second were renewed",
        renewed as f64 / DURATION.as_secs_f64()
    );
    println!("the slowest took {} ms", seen.slowest.load(Ordering::Relaxed) / 1000);
    println!("{} were over before their time", seen.expired.load(Ordering::Relaxed));
    println!("bytes a session, at each member: {}", bytes.join(", "));
}
