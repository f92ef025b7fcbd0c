//! Clusters of real processes: hurt, watched, and with every lock and every election.

mod cuts;
mod disk;
mod every_algorithm;
mod faults;
mod floods;
mod holders;
mod hosted;
mod hosts;
mod identity;
mod kept;
mod logs;
mod nodes;
mod office;
mod operator;
mod partition;
mod running;
mod services;
mod strace;
mod waiting;
mod watch;
mod ways;
