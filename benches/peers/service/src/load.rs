//! Load: clients that acquire and release locks as fast as possible.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::side::{Claimant, Side};

/// A row of the table: a number of clients and of locks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Name of the row.
    pub name: &'static str,
    /// Number of clients.
    pub clients: usize,
    /// True if each client has its own lock.
    pub is_apart: bool,
    /// Promised throughput as a multiple of etcd's.
    pub bar: f64,
}

/// The rows of the table.
pub const LOADS: [Load; 5] = [
    Load { name: "one lock, 2 clients", clients: 2, is_apart: false, bar: 20.0 },
    Load { name: "one lock, 8 clients", clients: 8, is_apart: false, bar: 10.0 },
    Load { name: "one lock, 64 clients", clients: 64, is_apart: false, bar: 5.0 },
    Load { name: "one client, alone", clients: 1, is_apart: true, bar: 1.5 },
    Load { name: "64 locks, a client each", clients: 64, is_apart: true, bar: 5.0 },
];

impl Load {
    /// Returns the cycles of acquisition and release per second, during a period.
    pub async fn rate(
        &self,
        side: Side,
        members: &[SocketAddr],
        leader: usize,
        long: Duration,
    ) -> f64 {
        let lock = fastrand::u32(..);
        let is_over = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let mut claimants = Vec::new();
        for client in 0..self.clients {
            let name = match self.is_apart {
                true => format!("bench/{lock}/{client}"),
                false => format!("bench/{lock}"),
            };
            // Without a choice of its own, the first client connects to the leader.
            let first = (leader + client) % members.len();
            let (members, first) = match side {
                Side::TenureReleased | Side::TenureDropped => (members, first),
                _ => (&members[first..=first], 0),
            };
            claimants.push(Claimant::start(side, members, first, &name).await);
        }
        let mut tasks = Vec::new();
        for mut claimant in claimants {
            let (is_over, done) = (is_over.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    claimant.cycle_until_success().await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        sleep(long / 8).await;
        let (before, started) = (done.load(Ordering::Relaxed), Instant::now());
        sleep(long).await;
        let cycles = done.load(Ordering::Relaxed) - before;
        let rate = cycles as f64 / started.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("a client ends");
        }
        rate
    }
}
