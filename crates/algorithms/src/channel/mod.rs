//! A reliable FIFO channel over links that may lose, duplicate and reorder messages.

pub mod fifo;

use tenure_core::{ConfigurableTimeout, Delay};

use crate::parameters::RESEND_TIMEOUT_NAME;

pub use fifo::FifoChannel;

fn resend_timeout(resend: Delay) -> ConfigurableTimeout {
    ConfigurableTimeout::new(
        RESEND_TIMEOUT_NAME,
        "time without an acknowledgement after which a message is sent again",
        resend,
    )
}
