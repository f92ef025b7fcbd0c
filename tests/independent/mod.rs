//! Searches that owe nothing to Tenure: papers told once more, and every schedule of them counted.
//!
//! What is one world, and what is one step, is in the `README.md` beside this file. Nothing here
//! names a crate of this workspace; who compares the numbers with the checker's is the test
//! program of `crates/check`.

pub(crate) mod bully;
pub(crate) mod chang_roberts;
pub(crate) mod lamport;
pub(crate) mod maekawa;
pub(crate) mod naimi_trehel;
pub(crate) mod raymond;
pub(crate) mod ricart_agrawala;
pub(crate) mod search;
pub(crate) mod suzuki_kasami;
pub(crate) mod token_ring;
pub(crate) mod user;
