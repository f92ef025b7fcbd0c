//! A file that only one leader at a time can create. If the creation fails, mutual exclusion is
//! violated.

use std::fs::{File, OpenOptions, read_to_string, remove_file};
use std::io::{self, Write};
use std::path::PathBuf;

use tempfile::TempDir;

/// A folder in which leaders work. It detects overlapping work independently of the service.
pub(crate) struct Workplace {
    folder: TempDir,
}

/// Work of one leader, which ends when this value is dropped.
pub(crate) struct Work {
    occupied: PathBuf,
}

impl Workplace {
    pub(crate) fn new() -> Workplace {
        Workplace { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the work of a leader and records it. Fails with
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if another leader works.
    pub(crate) fn start(&self, identity: &str, fence: u64) -> io::Result<Work> {
        let occupied = self.path("occupied");
        File::create_new(&occupied)?;
        let mut record = OpenOptions::new().create(true).append(true).open(self.path("record"))?;
        writeln!(record, "{identity} {fence}")?;
        Ok(Work { occupied })
    }

    /// Returns the identities and fencing tokens of the leaders that have worked, in order.
    pub(crate) fn record(&self) -> Vec<(String, u64)> {
        let text = read_to_string(self.path("record")).unwrap_or_default();
        let entry = |line: &str| {
            let (identity, fence) = line.rsplit_once(' ').expect("two words");
            (identity.to_owned(), fence.parse().expect("a number"))
        };
        text.lines().map(entry).collect()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        remove_file(&self.occupied).expect("the file of this work");
    }
}
