//! Saves of a process that has used up its file descriptors. The test has its own process, because
//! the limit applies to the whole process.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_core::ProcessId;
use tenure_runtime::StableStorage;
use tenure_runtime::store::StateOwner;

const DESCRIPTORS: u64 = 64;

/// Number of changes that fill several segments of the change log.
const CHANGES: usize = 100;

const CHANGE_BYTES: usize = 4 << 10;

fn open(directory: &Path) -> StableStorage {
    let owner = StateOwner { cluster: "demo".into(), process: ProcessId(0), group_size: 1 };
    StableStorage::open(directory, &owner, "token 1").expect("a store")
}

/// Opens files until the process has no descriptor left.
fn use_up_descriptors() -> Vec<File> {
    let files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!files.is_empty(), "the limit is above the number of open files");
    files
}

#[test]
fn store_saves_although_no_descriptor_is_free() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path());
    store.save(b"first").expect("room");
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), ..limit }).expect("fewer");
    let mut files = use_up_descriptors();
    for state in [b"second", b"third "] {
        // The first change opens a segment, and later changes continue in further segments.
        for _ in 0..CHANGES {
            store.append(&[7; CHANGE_BYTES]).expect("a reserved descriptor");
        }
        store.save(state).expect("a reserved descriptor");
        // The store has closed its segment.
        files.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
    }
    store.append(&[7; CHANGE_BYTES]).expect("a reserved descriptor");
    drop(files);
    setrlimit(Resource::Nofile, limit).expect("the earlier limit");
    drop(store);
    let store = open(directory.path());
    assert_eq!((store.state(), store.recovered_changes().len()), (Some(&b"third "[..]), 1));
}
