//! Independent implementations of algorithms, written from the papers, and searches over all their
//! schedules.
//!
//! `README.md` in this folder defines states and steps. These files use no crate of the workspace;
//! the test program of `crates/check` compares the numbers with the checker.

pub(crate) mod bully;
pub(crate) mod causal_broadcast;
pub(crate) mod central_detection;
pub(crate) mod chang_roberts;
pub(crate) mod congenial;
pub(crate) mod dining;
pub(crate) mod drinking;
pub(crate) mod echo;
pub(crate) mod extinction;
pub(crate) mod flooding;
pub(crate) mod floodset;
pub(crate) mod gallager_humblet_spira;
pub(crate) mod generals;
pub(crate) mod graphs;
pub(crate) mod invitation;
pub(crate) mod lamport;
pub(crate) mod lelann;
pub(crate) mod maekawa;
pub(crate) mod naimi_trehel;
pub(crate) mod peterson;
pub(crate) mod raymond;
pub(crate) mod ricart_agrawala;
pub(crate) mod saturation;
pub(crate) mod search;
pub(crate) mod shared_memory;
pub(crate) mod stabilization;
pub(crate) mod suzuki_kasami;
pub(crate) mod synchronous_rings;
pub(crate) mod timed;
pub(crate) mod timed_bully;
pub(crate) mod timed_heartbeat;
pub(crate) mod token_ring;
pub(crate) mod user;
