//! Files and directories that only their owner can access. A saved state may contain secrets, such
//! as signing keys or the passwords of users.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

/// Creates a file that only its owner can access. An existing file is truncated and keeps its
/// permissions.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a directory that only its owner can access, and its missing parents, with the same
/// permissions. Existing directories keep their permissions.
pub(super) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
