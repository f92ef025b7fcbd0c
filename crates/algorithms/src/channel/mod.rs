//! Reliable channels built on unreliable ones.

pub mod fifo;

use tenure_core::{Delay, Timeout};

use crate::parameters::RESEND;

pub use fifo::Fifo;

fn resend_timeout(resend: Delay) -> Timeout {
    Timeout::new(
        RESEND,
        "time without an acknowledgement after which a message is sent again",
        resend,
    )
}
