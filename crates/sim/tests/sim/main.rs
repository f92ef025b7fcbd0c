//! Tests of the simulator, of laws from papers over many seeds, and of pictures.

mod applications;
mod by_service;
mod common;
mod detectors;
mod laws;
mod models;
mod more_locks;
mod networks;
mod pictures;
mod repaired_elections;
mod runs;
mod save_faults;
mod scenarios;
mod seeds;
mod sessions;
mod states;
mod tolerant_locks;

// This crate contains the compiled simulator for each type `SumTypeMember::Sum`. The tests reuse
// the compiled code.
use tenure_instances as _;
