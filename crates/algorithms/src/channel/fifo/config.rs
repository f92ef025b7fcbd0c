//! Configuration of the reliable channel.

use tenure_core::Delay;

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// Upper bound on messages in flight to one peer. Further messages wait in a queue without a
    /// bound, which grows for as long as the peer is down.
    pub window: u32,
    /// Time without a new acknowledgement after which unacknowledged messages are sent again.
    pub resend_timeout: Delay,
    /// Configuration of the inner protocol.
    pub inner: C,
}

impl<C> Config<C> {
    /// Returns a configuration of the channel for the inner protocol with the configuration
    /// `inner`. The window is 64 messages, and unacknowledged messages are sent again after 20
    /// units.
    pub fn with_inner_config(inner: C) -> Self {
        Config { window: 64, resend_timeout: Delay::time_units(20), inner }
    }
}

impl<C: FromParameters> FromParameters for Config<C> {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let inner = C::from_parameters(&parameters.with_retransmission_delay())?;
        Ok(Config {
            resend_timeout: parameters.retransmission_timeout(),
            ..Config::with_inner_config(inner)
        })
    }
}
