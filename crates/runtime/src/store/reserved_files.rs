//! File descriptors in reserve, for a process that has used up its descriptors.

use std::fs::File;

/// Number of descriptors that a save opens at the same time: a new segment, and the directory that
/// is flushed.
const RESERVED_FILES: usize = 2;

/// File descriptors in reserve. A save closes them before it opens files, so the save succeeds even
/// if the process has used up its descriptors.
#[derive(Debug, Default)]
pub(crate) struct ReservedFiles(Vec<File>);

impl ReservedFiles {
    /// Closes the descriptors.
    pub(crate) fn release(&mut self) {
        self.0.clear();
    }

    /// Opens the missing descriptors as duplicates of `file`. Opens fewer if the process has too
    /// few descriptors left.
    pub(crate) fn refill(&mut self, file: &File) {
        while self.0.len() < RESERVED_FILES
            && let Ok(duplicate) = file.try_clone()
        {
            self.0.push(duplicate);
        }
    }
}
