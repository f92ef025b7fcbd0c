//! Measures how a member catches up after an absence, how fast the other members serve puts
//! meanwhile, and how long restarts of one member and of all members take.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Options;
use crate::cluster::{Cluster, MEMBERS};
use crate::puts::{CONTINUOUS_WRITERS, Pace, PutLoad, VALUE_BYTES, put_one};
use crate::recipe::{channel_to, put, status};
use crate::side::ServiceKind;

/// Number of concurrent writers during the absence.
const WRITERS: usize = 64;

/// Time for which puts are measured before the member returns, and after it has caught up.
const CALM_PERIOD: Duration = Duration::from_secs(5);

const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(300);

pub async fn report(options: &Options) {
    let folder = tempfile::tempdir_in(&options.place).expect("a folder");
    let mut cluster = Cluster::start(ServiceKind::Tenure, &options.programs, folder.path()).await;
    let leader = cluster.leader().await;
    let away = (leader + 1) % MEMBERS;
    let there: Vec<SocketAddr> =
        (0..MEMBERS).filter(|at| *at != away).map(|at| cluster.clients()[at]).collect();
    cluster.signal(away, Signal::KILL);
    cluster.wait_ended(away);
    let started = Instant::now();
    let left = Arc::new(AtomicUsize::new(options.away));
    let mut writing = JoinSet::new();
    for writer in 0..WRITERS {
        let (left, channel) = (left.clone(), channel_to(there[writer % there.len()]));
        writing.spawn(async move {
            let take = |left: usize| left.checked_sub(1);
            let mut took = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                let started = Instant::now();
                put_one(&channel).await;
                took.push(started.elapsed());
            }
            took
        });
    }
    let mut took = writing.join_all().await.concat();
    took.sort_unstable();
    let part = |of: f64| took[((took.len() - 1) as f64 * of).round() as usize];
    println!("{} entries were put in {:.0?}", options.away, started.elapsed());
    let (median, most, longest) = (part(0.5), part(0.99), part(1.0));
    println!("one took {median:.1?}, {most:.1?} at the 99th percentile, {longest:.1?} at most");

    let mut load = PutLoad::start(&there, Duration::ZERO);
    print_pace(&mut load, "before it came back", CALM_PERIOD).await;
    let started = Instant::now();
    let goal = applied(cluster.clients()[leader]).await.expect("the leader answers");
    cluster.restart(away);
    while applied(cluster.clients()[away]).await.is_none_or(|applied| applied < goal) {
        assert!(started.elapsed() < CATCH_UP_TIMEOUT, "it has caught up");
        sleep(Duration::from_millis(20)).await;
    }
    println!("it had all of them {:.2?} after it was started", started.elapsed());
    print_pace(&mut load, "meanwhile", Duration::ZERO).await;
    print_pace(&mut load, "after that", CALM_PERIOD).await;
    load.end().await;
    let all: Vec<usize> = (0..MEMBERS).collect();
    for who in [&[away][..], &all] {
        let took = restart_members(&mut cluster, who).await;
        println!("{} that were killed took a put {took:.2?} after they were started", who.len());
    }
}

/// Kills members at the same time and restarts them. Returns the time until the last of them
/// accepts a put.
async fn restart_members(cluster: &mut Cluster, who: &[usize]) -> Duration {
    for member in who {
        cluster.signal(*member, Signal::KILL);
    }
    for member in who {
        cluster.wait_ended(*member);
    }
    let started = Instant::now();
    for member in who {
        cluster.restart(*member);
    }
    for member in who {
        let member = cluster.clients()[*member];
        while put(&channel_to(member), b"again".to_vec(), vec![7; VALUE_BYTES]).await.is_err() {
            assert!(started.elapsed() < CATCH_UP_TIMEOUT, "it serves again");
            sleep(Duration::from_millis(2)).await;
        }
    }
    started.elapsed()
}

async fn print_pace(load: &mut PutLoad, when: &str, period: Duration) {
    sleep(period).await;
    let Pace { rate, slowest } = load.pace();
    println!(
        "{when}: {rate:.0} puts a second by {CONTINUOUS_WRITERS}, the slowest took {slowest:.0?}"
    );
}

async fn applied(member: SocketAddr) -> Option<u64> {
    Some(status(member).await?.raft_applied_index)
}
