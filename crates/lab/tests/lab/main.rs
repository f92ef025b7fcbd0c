//! Tests of the lab over real sockets: algorithms that panic, clients that disconnect, and
//! moments of violations.

mod broken;
mod leaving;
#[path = "../../../web/tests/support/mod.rs"]
mod support;
mod two_processes;
mod violations;
