//! The lab over real sockets: panicking algorithms and disconnecting clients.

mod broken;
mod leaving;
#[path = "../../../web/tests/support/mod.rs"]
mod support;
