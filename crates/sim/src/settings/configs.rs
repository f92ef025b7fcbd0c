use tenure_core::ProcessId;

use crate::settings::error::SettingsError;

/// Configuration of every process: shared, or one for each.
#[derive(Clone, Debug)]
pub enum Configs<C> {
    /// The same for all processes.
    Shared(C),
    /// One configuration for each process.
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
                Err(SettingsError::Configs { size, listed: configs.len() })
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
