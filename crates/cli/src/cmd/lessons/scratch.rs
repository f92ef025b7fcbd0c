//! Temporary folders for the traces of experiments.

use std::io;
use std::path::{Path, PathBuf};

use tenure_trace::files;

/// A folder that is removed when this value is dropped. On a web page, files are kept in memory.
/// The folder is then only a prefix of the names of these files.
pub(super) struct TempFolder {
    #[cfg(not(target_family = "wasm"))]
    on_disk: Option<tempfile::TempDir>,
}

impl TempFolder {
    pub(super) fn new() -> io::Result<Self> {
        Ok(TempFolder {
            #[cfg(not(target_family = "wasm"))]
            on_disk: if files::keeps_files_in_memory() { None } else { Some(tempfile::tempdir()?) },
        })
    }

    pub(super) fn file_path(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(super) fn has_file(&self, file: &Path) -> bool {
        files::open(file).is_ok()
    }

    #[cfg(not(target_family = "wasm"))]
    fn path(&self) -> &Path {
        self.on_disk.as_ref().map_or(Path::new(IN_MEMORY), tempfile::TempDir::path)
    }

    #[cfg(target_family = "wasm")]
    fn path(&self) -> &Path {
        Path::new(IN_MEMORY)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        files::remove_memory_folder(Path::new(IN_MEMORY));
    }
}

/// Name of the folder if files are kept in memory. Experiments run one after the other, so that all
/// of them can use this name.
const IN_MEMORY: &str = "experiment";
