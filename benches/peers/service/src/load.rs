//! The load: clients that enter locks and leave them as fast as they can.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::side::{Claimant, Side};

/// A row of the table: so many clients of so many locks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What it is called.
    pub name: &'static str,
    /// How many clients.
    pub clients: usize,
    /// Whether each of them has a lock of its own.
    pub is_apart: bool,
    /// How many times what etcd does we promise.
    pub bar: f64,
}

/// The rows.
pub const LOADS: [Load; 5] = [
    Load { name: "one lock, 2 clients", clients: 2, is_apart: false, bar: 20.0 },
    Load { name: "one lock, 8 clients", clients: 8, is_apart: false, bar: 10.0 },
    Load { name: "one lock, 64 clients", clients: 64, is_apart: false, bar: 5.0 },
    Load { name: "one client, alone", clients: 1, is_apart: true, bar: 1.5 },
    Load { name: "64 locks, a client each", clients: 64, is_apart: true, bar: 5.0 },
];

impl Load {
    /// How often a second a lock is entered and left, for so long.
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
            // The first of them is at the leader, unless they choose.
            let first = (leader + client) % members.len();
            let (members, first) = match side {
                Side::TenureReleased | Side::TenureDropped => (members, first),
                _ => (&members[first..=first], 0),
            };
            claimants.push(Claimant::begin(side, members, first, &name).await);
        }
        let mut tasks = Vec::new();
        for mut claimant in claimants {
            let (is_over, done) = (is_over.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    claimant.cycle_at_last().await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        sleep(long / 8).await;
        let (before, begun) = (done.load(Ordering::Relaxed), Instant::now());
        sleep(long).await;
        let cycles = done.load(Ordering::Relaxed) - before;
        let rate = cycles as f64 / begun.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("a client ends");
        }
        rate
    }
}
