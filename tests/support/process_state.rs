//! State of a process or a thread, as Linux shows it.

use std::fs;
use std::path::Path;

/// Reads the state of a process or a thread from its folder in `/proc`: `R` running, `S` sleeping,
/// `T` stopped, `Z` ended but not waited for. Returns `None` if the folder does not exist.
pub(crate) fn state_of(folder: impl AsRef<Path>) -> Option<char> {
    let stat = fs::read_to_string(folder.as_ref().join("stat")).ok()?;
    // The state follows the name of the program, which may contain spaces.
    stat.rsplit_once(") ")?.1.chars().next()
}
