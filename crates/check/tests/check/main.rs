//! The checker, checked: known figures, known verdicts, and mistakes that it must find.

mod ample;
mod bullies;
mod carvalho_roucairol;
mod catalogue;
mod dijkstra_ring;
mod elections;
mod faults;
mod k_mutex;
mod lamport;
mod liveness;
mod misra_ring;
mod mistakes;
mod panics;
mod raft;
mod reductions;
mod reference;
mod repaired_ring;
mod reports;
mod rings;
mod symmetry;
mod textbook;
mod tokens;
mod trust;
mod verdicts;
