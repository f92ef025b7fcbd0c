//! Complaints about other lock services and their clients, each as a test. `docs/complaints.md` has
//! the list, and tests elsewhere that repeat the rest.
//!
//! Most tests run at `tenure serve` and at a real etcd: the path in `TENURE_TEST_ETCD`, or `etcd`
//! in the search path. Without it they print `skipped: needs etcd` and run at `tenure serve` alone.
#![cfg(target_os = "linux")]

mod cluster;
mod elections;
mod etcd;
#[path = "../support/killed.rs"]
mod killed;
mod leases;
mod losses;
mod operators;
mod server;
#[path = "../support/suspended.rs"]
mod suspended;
mod wrapper;
