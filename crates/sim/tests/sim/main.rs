//! The simulator: its behaviour, what papers say of algorithms as laws over seeds, and pictures.

mod applications;
mod common;
mod detectors;
mod lapses;
mod laws;
mod models;
mod more_locks;
mod pictures;
mod repaired_elections;
mod runs;
mod scenarios;
mod seeds;
mod sessions;
mod states;
mod tolerant_locks;
