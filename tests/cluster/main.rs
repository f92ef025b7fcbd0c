//! Tests of clusters of real processes: faults, monitoring, and every lock and election.

mod connections;
mod cuts;
mod disk;
mod every_algorithm;
mod faults;
mod floods;
mod holders;
mod hosts;
mod identity;
mod isolated_leaders;
#[path = "../support/killed.rs"]
mod killed;
mod log_storage;
mod network_cluster;
mod nodes;
mod operator;
mod partition;
mod running;
mod services;
#[path = "../support/skipped.rs"]
mod skipped;
mod strace;
mod waiting;
mod watch;
