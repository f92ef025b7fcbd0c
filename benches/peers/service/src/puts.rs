//! Clients that put values continuously, and their latency.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::recipe::{channel_to, put};

pub const CONTINUOUS_WRITERS: usize = 4;

const KEYS: usize = 100_000;

pub const VALUE_BYTES: usize = 24;

pub struct PutLoad {
    is_over: Arc<AtomicBool>,
    puts: Arc<AtomicU64>,
    /// Longest latency since the last report, in microseconds.
    slowest: Arc<AtomicU64>,
    since: Instant,
    tasks: JoinSet<()>,
}

pub struct Pace {
    pub rate: f64,
    pub slowest: Duration,
}

impl PutLoad {
    /// Starts clients that pause after each put.
    pub fn start(members: &[SocketAddr], pause: Duration) -> PutLoad {
        let (is_over, puts, slowest) =
            <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let mut tasks = JoinSet::new();
        for writer in 0..CONTINUOUS_WRITERS {
            let (is_over, puts, slowest) = (is_over.clone(), puts.clone(), slowest.clone());
            let channel = channel_to(members[writer % members.len()]);
            tasks.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    put_one(&channel).await;
                    let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                    slowest.fetch_max(took, Ordering::Relaxed);
                    puts.fetch_add(1, Ordering::Relaxed);
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                }
            });
        }
        PutLoad { is_over, puts, slowest, since: Instant::now(), tasks }
    }

    /// Returns the rate and the latency since the last call.
    pub fn pace(&mut self) -> Pace {
        let puts = self.puts.swap(0, Ordering::Relaxed);
        let slowest = Duration::from_micros(self.slowest.swap(0, Ordering::Relaxed));
        let since = std::mem::replace(&mut self.since, Instant::now());
        Pace { rate: puts as f64 / since.elapsed().as_secs_f64(), slowest }
    }

    /// Stops the clients, and returns the rate and the latency since the last call.
    pub async fn end(mut self) -> Pace {
        self.is_over.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
        self.pace()
    }
}

/// Puts a random key, and repeats it after a failure.
pub async fn put_one(channel: &Channel) {
    let key = format!("away/{}", fastrand::usize(..KEYS)).into_bytes();
    while let Err(status) = put(channel, key.clone(), vec![7; VALUE_BYTES]).await {
        eprintln!("a put failed: {}", status.message());
    }
}
