//! Scripts, performed.

use tenure_core::{Group, Order, Protocol};

use crate::script::{Action, Script};
use crate::{Spoken, Stage, StageError};

/// A script could not be performed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerformError {
    /// An action was not possible.
    #[error("line {line}: {error}")]
    Action {
        /// The number of its line.
        line: usize,
        /// Why not.
        #[source]
        error: StageError,
    },
    /// Something was to happen before there was a group.
    #[error("line {line}: there is no group yet; say `group 3` first")]
    NoGroup {
        /// The number of the line.
        line: usize,
    },
}

/// Performs `script` on stages of `P`, with `config` for each process, over FIFO links until it
/// says `channel reordered`. Returns the outcome of each block.
///
/// # Errors
///
/// [`PerformError`] at the first action that is not possible; what came before is not returned.
pub fn perform<P: Protocol<Command: Spoken>>(
    script: &Script,
    config: impl Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut stages = Vec::new();
    perform_on::<P>(&mut stages, script, config)
}

/// The same, keeping the stages: one for each group of the script.
pub(crate) fn perform_on<P: Protocol<Command: Spoken>>(
    stages: &mut Vec<Stage<P>>,
    script: &Script,
    config: impl Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut outcomes = Vec::with_capacity(script.blocks.len());
    for block in &script.blocks {
        let mut lines = Vec::new();
        for (line, action) in block.actions() {
            match (action, stages.last_mut()) {
                (Action::Group(size), _) => stages.push(Stage::new(*size, Order::Fifo, &config)),
                (_, None) => return Err(PerformError::NoGroup { line }),
                (action, Some(stage)) => {
                    stage.perform(action).map_err(|error| PerformError::Action { line, error })?
                }
            }
            lines.extend(stages.last_mut().into_iter().flat_map(Stage::take_lines));
        }
        outcomes.push(lines.join("\n"));
    }
    Ok(outcomes)
}
