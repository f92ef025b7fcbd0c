//! Configuration of the algorithm, for all processes or for each of them.

use tenure_core::ProcessId;

use crate::settings::error::SettingsError;

/// Configurations of the processes in a run.
#[derive(Clone, Debug)]
pub enum Configs<C> {
    /// One configuration that all processes share.
    Shared(C),
    /// One configuration for each process, in the order of their numbers.
    Each(Vec<C>),
}

impl<C> Configs<C> {
    pub(crate) fn of(&self, process: ProcessId) -> &C {
        match self {
            Configs::Shared(config) => config,
            Configs::Each(configs) => &configs[process.index()],
        }
    }

    pub(crate) fn check(&self, size: u32) -> Result<(), SettingsError> {
        match self {
            Configs::Each(configs) if configs.len() != size as usize => {
                Err(SettingsError::WrongConfigCount { size, listed: configs.len() })
            }
            _ => Ok(()),
        }
    }
}

impl<C> From<C> for Configs<C> {
    fn from(config: C) -> Self {
        Configs::Shared(config)
    }
}
