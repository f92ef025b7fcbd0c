//! Tests of clients that connect over sockets to a member in the same process. Some tests put a
//! relay in between, which injects network faults.

mod admin;
mod barriers;
mod blocking;
mod elections;
mod etcd;
mod leader;
mod locks;
mod losses;
mod metrics;
mod nested;
mod read_write;
mod relay;
mod semaphores;
mod service;
mod several;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod transfer;
mod users;
mod workplace;
