//! Independent searches: second implementations from the papers, and all their schedules counted.
//!
//! `README.md` in this folder defines states and steps. These files use no crate of the workspace;
//! the test program of `crates/check` compares the numbers with the checker.

pub(crate) mod bully;
pub(crate) mod chang_roberts;
pub(crate) mod echo;
pub(crate) mod extinction;
pub(crate) mod flooding;
pub(crate) mod gallager_humblet_spira;
pub(crate) mod graphs;
pub(crate) mod lamport;
pub(crate) mod maekawa;
pub(crate) mod naimi_trehel;
pub(crate) mod raymond;
pub(crate) mod ricart_agrawala;
pub(crate) mod saturation;
pub(crate) mod search;
pub(crate) mod suzuki_kasami;
pub(crate) mod token_ring;
pub(crate) mod user;
