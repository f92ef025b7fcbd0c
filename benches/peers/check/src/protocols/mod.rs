//! The protocols of the comparison, as textbooks describe them. They have no timers and no stable
//! state, so that each tool can express them.

pub(crate) mod chang_roberts;
pub(crate) mod maekawa;
pub(crate) mod raft_election;
#[path = "../../../../../crates/check/tests/check/textbook.rs"]
#[allow(dead_code, reason = "the comparison uses the correct protocol only")]
pub(crate) mod ricart_agrawala;
