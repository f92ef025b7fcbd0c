//! Channels built on worse channels.

pub mod fifo;

use tenure_core::{Delay, Timeout};

pub use fifo::Fifo;

/// The name of the timeout on the command line.
pub(crate) const RESEND: &str = "resend";

/// The timeout of a reliable channel.
fn resend_timeout(resend: Delay) -> Timeout {
    Timeout::new(RESEND, "without an acknowledgement for so long, a message is sent again", resend)
}
