//! The state from which a process boots after a crash or a restart.

use tenure_core::Protocol;

use crate::failure::NodeStartError;
use crate::store::StableStorage;
use crate::validator::Validator;

/// Returns the saved state, after applying all saved changes. Returns `None` if the process has
/// saved no state.
///
/// # Errors
///
/// [`NodeStartError`] if the state or a change is unreadable, or contains impossible values.
pub(crate) fn saved_state<P: Protocol>(
    store: &StableStorage,
    validator: &mut Validator,
) -> Result<Option<P::Stable>, NodeStartError> {
    let Some(bytes) = store.state() else { return Ok(None) };
    let directory = || store.directory().display().to_string();
    let mut read = |bytes: &[u8]| {
        let Ok((stable, [])) = postcard::take_from_bytes::<P::Stable>(bytes) else {
            return Err(NodeStartError::UnreadableState { directory: directory() });
        };
        match validator.check_state(&stable) {
            Ok(()) => Ok(stable),
            Err(why) => Err(NodeStartError::InvalidState { directory: directory(), why }),
        }
    };
    let mut stable = read(bytes)?;
    for change in store.recovered_changes() {
        P::apply_change(&mut stable, read(change)?);
    }
    Ok(Some(stable))
}
