//! Configuration of the reliable channel.

use tenure_core::Delay;

use crate::catalogue_error::CatalogueError;
use crate::parameters::{Configured, Parameters};

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// Upper bound on messages in flight to one peer.
    pub window: u32,
    /// Time after which unacknowledged messages are sent again.
    pub resend: Delay,
    /// Configuration of the inner protocol.
    pub inner: C,
}

impl<C> Config<C> {
    /// Returns a configuration with a window of 64 messages and a retransmission timeout of 20
    /// units.
    pub fn around(inner: C) -> Self {
        Config { window: 64, resend: Delay::units(20), inner }
    }
}

impl<C: Configured> Configured for Config<C> {
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let inner = C::configured(&parameters.with_repeats())?;
        Ok(Config { resend: parameters.resend(), ..Config::around(inner) })
    }
}
