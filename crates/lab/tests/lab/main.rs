//! The lab over real sockets: algorithms that break, and visitors who leave.

mod broken;
mod leaving;
#[path = "../../../web/tests/support/mod.rs"]
mod support;
