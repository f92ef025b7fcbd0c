//! Files and directories for their owner alone: what a process saves may be a secret, such as what
//! a service signs with, or the passwords of its users.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

/// Makes a file, or empties the one that is there, which stays as readable as it is.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a directory and those above it that are missing.
pub(super) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
