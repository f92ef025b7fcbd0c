//! How many sessions a service holds: leases of ten seconds, each renewed three times in that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Options;
use crate::cluster::{Cluster, MEMBERS, memory};
use crate::recipe::{Leases, line_to};
use crate::side::Kind;

/// How many leases one connection has.
const EACH: usize = 1000;

/// For how long they are held.
const LONG: Duration = Duration::from_secs(60);

/// What is seen of all of them.
#[derive(Debug, Default)]
pub struct Seen {
    /// Renewals that were answered with a time to live.
    pub renewed: AtomicU64,
    /// Those that were answered with none: the lease was over.
    pub expired: AtomicU64,
    /// The longest that an answer took, in microseconds.
    pub slowest: AtomicU64,
}

/// Prints what came of it.
pub async fn report(options: &Options) {
    let folder = tempfile::tempdir_in(&options.place).expect("a folder");
    let cluster = Cluster::start(Kind::Tenure, &options.programs, folder.path()).await;
    cluster.led().await;
    sleep(Duration::from_secs(1)).await;
    let (seen, before) = (Arc::new(Seen::default()), memory(&cluster));
    let (mut granting, mut all) = (JoinSet::new(), Vec::new());
    let begun = Instant::now();
    for place in 0..options.sessions.div_ceil(EACH) {
        let channel = line_to(cluster.clients()[place % MEMBERS]);
        granting.spawn(Leases::keep(channel, EACH, seen.clone()));
        if granting.len() == 8 {
            all.extend(granting.join_next().await);
        }
    }
    all.extend(granting.join_all().await.into_iter().map(Ok));
    println!("{} leases were granted in {:.1?}", all.len() * EACH, begun.elapsed());
    let begun = Instant::now();
    let (renewed, mut most) = (seen.renewed.load(Ordering::Relaxed), memory(&cluster));
    while begun.elapsed() < LONG {
        sleep(Duration::from_secs(5)).await;
        let now = memory(&cluster);
        most = std::array::from_fn(|at| most[at].max(now[at]));
    }
    let renewed = seen.renewed.load(Ordering::Relaxed) - renewed;
    let count = (all.len() * EACH) as f64;
    let bytes = (0..MEMBERS).map(|at| (most[at] - before[at]) as f64 / count);
    let bytes: Vec<String> = bytes.map(|bytes| format!("{bytes:.0}")).collect();
    println!("in {LONG:?} {:.0} a second were renewed", renewed as f64 / LONG.as_secs_f64());
    println!("the slowest took {} ms", seen.slowest.load(Ordering::Relaxed) / 1000);
    println!("{} were over before their time", seen.expired.load(Ordering::Relaxed));
    println!("bytes a session, at each member: {}", bytes.join(", "));
}
