//! A few clients that put all the time, and how long that takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::recipe::{line_to, put};

/// How many put at a time.
pub const FEW: usize = 4;

/// How many keys there are.
const KEYS: usize = 100_000;

/// How many bytes each value has.
pub const VALUE: usize = 24;

/// A few who put all the time.
pub struct Load {
    is_over: Arc<AtomicBool>,
    puts: Arc<AtomicU64>,
    /// The longest that one took, in microseconds, since it was last told.
    slowest: Arc<AtomicU64>,
    since: Instant,
    tasks: JoinSet<()>,
}

/// How fast they were.
pub struct Pace {
    /// How many puts a second.
    pub rate: f64,
    /// How long the slowest took.
    pub slowest: Duration,
}

impl Load {
    /// Of clients that pause after each put.
    pub fn begin(members: &[SocketAddr], pause: Duration) -> Load {
        let (is_over, puts, slowest) =
            <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let mut tasks = JoinSet::new();
        for writer in 0..FEW {
            let (is_over, puts, slowest) = (is_over.clone(), puts.clone(), slowest.clone());
            let channel = line_to(members[writer % members.len()]);
            tasks.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    put_one(&channel).await;
                    let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                    slowest.fetch_max(took, Ordering::Relaxed);
                    puts.fetch_add(1, Ordering::Relaxed);
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                }
            });
        }
        Load { is_over, puts, slowest, since: Instant::now(), tasks }
    }

    /// How fast they were since this was last asked.
    pub fn pace(&mut self) -> Pace {
        let puts = self.puts.swap(0, Ordering::Relaxed);
        let slowest = Duration::from_micros(self.slowest.swap(0, Ordering::Relaxed));
        let since = std::mem::replace(&mut self.since, Instant::now());
        Pace { rate: puts as f64 / since.elapsed().as_secs_f64(), slowest }
    }

    /// Ends them, and says how fast they were since this was last asked.
    pub async fn end(mut self) -> Pace {
        self.is_over.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
        self.pace()
    }
}

/// Puts some key, and again if that fails.
pub async fn put_one(channel: &Channel) {
    let key = format!("away/{}", fastrand::usize(..KEYS)).into_bytes();
    while let Err(status) = put(channel, key.clone(), vec![7; VALUE]).await {
        eprintln!("a put failed: {}", status.message());
    }
}
