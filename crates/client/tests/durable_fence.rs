//! A fencing token is accepted only if it is on disk. This test has a process of its own, because
//! it limits the number of open files of its process.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_client::FenceFile;

/// Opens files until the process may open only `left` more.
fn open_all_but(left: usize, folder: &Path) -> Vec<File> {
    let mut open: Vec<File> = std::iter::from_fn(|| File::open(folder).ok()).collect();
    open.truncate(open.len() - left);
    open
}

#[test]
fn token_is_rejected_until_its_directory_is_flushed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fence");
    let resource = FenceFile::new(&path);
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("fewer files");
    // The process can open the lock file and the token file, but then it cannot open the directory.
    let open = open_all_but(2, folder.path());
    for handle in [&resource, &resource, &resource.clone(), &FenceFile::new(&path)] {
        let error = handle.admit(5).map(drop).expect_err("the directory is not flushed");
        assert!(error.to_string().contains("os error 24"), "{error}");
        assert_eq!(handle.highest_fence().expect("a token"), 5, "the file is replaced");
    }
    drop(open);
    for handle in [&resource, &FenceFile::new(&path)] {
        assert_eq!(handle.admit(5).map(|it| it.fence()).expect("accepted"), 5);
    }
}
