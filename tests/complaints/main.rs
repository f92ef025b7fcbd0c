//! Tests of complaints about other lock services and their clients. `docs/complaints.md` lists all
//! complaints. If a complaint is tested elsewhere, that document names the test.
//!
//! Most tests run at `tenure serve` and at a real etcd: the path in `TENURE_TEST_ETCD`, or `etcd`
//! in the search path. Without etcd, they print `skipped: needs etcd` and run only at
//! `tenure serve`.
#![cfg(target_os = "linux")]

mod cluster;
mod elections;
mod etcd;
#[path = "../support/killed.rs"]
mod killed;
mod leases;
mod losses;
mod operators;
#[path = "../support/process_state.rs"]
mod process_state;
mod server;
#[path = "../support/skipped.rs"]
mod skipped;
#[path = "../support/suspended.rs"]
mod suspended;
mod wrapper;
