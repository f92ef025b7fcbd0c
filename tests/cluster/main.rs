//! Clusters of real processes: hurt, watched, and with every lock and every election.

mod every_algorithm;
mod faults;
mod waiting;
mod watch;
