//! Tests of the simulator: its behaviour, laws of papers over seeds, and pictures.

mod applications;
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
