//! Tests of the lab over real sockets: algorithms that panic, and clients that disconnect.

mod broken;
mod leaving;
#[path = "../../../web/tests/support/mod.rs"]
mod support;
