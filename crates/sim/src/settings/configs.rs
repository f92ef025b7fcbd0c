//! Configurations of the algorithm: one for all processes, or one for each process.

use tenure_core::ProcessId;

use crate::settings::error::SettingsError;

/// Configurations of the processes in a run. All processes have the same configuration, or each
/// process has its own.
#[derive(Clone, Debug)]
pub enum ProcessConfigs<C> {
    /// One configuration that all processes share.
    Shared(C),
    /// One configuration for each process, by index. The number of configurations must be the size
    /// of the group.
    Each(Vec<C>),
}

impl<C> ProcessConfigs<C> {
    pub(crate) fn of(&self, process: ProcessId) -> &C {
        match self {
            ProcessConfigs::Shared(config) => config,
            ProcessConfigs::Each(configs) => &configs[process.index()],
        }
    }

    pub(crate) fn check_count(&self, size: u32) -> Result<(), SettingsError> {
        match self {
            ProcessConfigs::Each(configs) if configs.len() != size as usize => {
                Err(SettingsError::WrongConfigCount { size, listed: configs.len() })
            }
            _ => Ok(()),
        }
    }
}

impl<C> From<C> for ProcessConfigs<C> {
    fn from(config: C) -> Self {
        ProcessConfigs::Shared(config)
    }
}
