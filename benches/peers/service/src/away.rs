//! How members take many entries, how one comes back that was away for them and what the others do
//! meanwhile, and how all of them start again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Options;
use crate::cluster::{Cluster, MEMBERS};
use crate::puts::{FEW, Load, Pace, VALUE, put_one};
use crate::recipe::{line_to, put, status};
use crate::side::Kind;

/// How many put at a time while the member is away.
const WRITERS: usize = 64;

/// How long what is put is looked at before the member comes back, and after it has caught up.
const CALM: Duration = Duration::from_secs(5);

/// How long a member may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Prints what came of it.
pub async fn report(options: &Options) {
    let folder = tempfile::tempdir_in(&options.place).expect("a folder");
    let mut cluster = Cluster::start(Kind::Tenure, &options.programs, folder.path()).await;
    let leader = cluster.led().await;
    let away = (leader + 1) % MEMBERS;
    let there: Vec<SocketAddr> =
        (0..MEMBERS).filter(|at| *at != away).map(|at| cluster.clients()[at]).collect();
    cluster.signal(away, Signal::KILL);
    cluster.bury(away);
    let begun = Instant::now();
    let left = Arc::new(AtomicUsize::new(options.away));
    let mut writing = JoinSet::new();
    for writer in 0..WRITERS {
        let (left, channel) = (left.clone(), line_to(there[writer % there.len()]));
        writing.spawn(async move {
            let take = |left: usize| left.checked_sub(1);
            let mut took = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                let begun = Instant::now();
                put_one(&channel).await;
                took.push(begun.elapsed());
            }
            took
        });
    }
    let mut took = writing.join_all().await.concat();
    took.sort_unstable();
    let part = |of: f64| took[((took.len() - 1) as f64 * of).round() as usize];
    println!("{} entries were put in {:.0?}", options.away, begun.elapsed());
    let (median, most, longest) = (part(0.5), part(0.99), part(1.0));
    println!("one took {median:.1?}, {most:.1?} at the 99th percentile, {longest:.1?} at most");

    let mut load = Load::begin(&there, Duration::ZERO);
    tell(&mut load, "before it came back", CALM).await;
    let begun = Instant::now();
    let goal = applied(cluster.clients()[leader]).await.expect("the leader answers");
    cluster.restart(away);
    while applied(cluster.clients()[away]).await.is_none_or(|applied| applied < goal) {
        assert!(begun.elapsed() < PATIENCE, "it has caught up");
        sleep(Duration::from_millis(20)).await;
    }
    println!("it had all of them {:.2?} after it was started", begun.elapsed());
    tell(&mut load, "meanwhile", Duration::ZERO).await;
    tell(&mut load, "after that", CALM).await;
    load.end().await;
    let all: Vec<usize> = (0..MEMBERS).collect();
    for who in [&[away][..], &all] {
        let took = started_again(&mut cluster, who).await;
        println!("{} that were killed took a put {took:.2?} after they were started", who.len());
    }
}

/// How long members take until the last of them takes a put that were killed at once and started
/// again.
async fn started_again(cluster: &mut Cluster, who: &[usize]) -> Duration {
    for member in who {
        cluster.signal(*member, Signal::KILL);
    }
    for member in who {
        cluster.bury(*member);
    }
    let begun = Instant::now();
    for member in who {
        cluster.restart(*member);
    }
    for member in who {
        let member = cluster.clients()[*member];
        while put(&line_to(member), b"again".to_vec(), vec![7; VALUE]).await.is_err() {
            assert!(begun.elapsed() < PATIENCE, "it serves again");
            sleep(Duration::from_millis(2)).await;
        }
    }
    begun.elapsed()
}

/// Prints how fast some were who put, since the last time, in so long from now on.
async fn tell(load: &mut Load, when: &str, long: Duration) {
    sleep(long).await;
    let Pace { rate, slowest } = load.pace();
    println!("{when}: {rate:.0} puts a second by {FEW}, the slowest took {slowest:.0?}");
}

/// Up to where a member has taken entries, if it answers.
async fn applied(member: SocketAddr) -> Option<u64> {
    Some(status(member).await?.raft_applied_index)
}
