//! The store on a real disk: recovery of the state, and detection of damage.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use tenure_runtime::StableStorage;
use tenure_runtime::store::{OpenError, SaveError, StateOwner, UnreadableReason};

fn state_of(directory: &Path) -> std::path::PathBuf {
    directory.join("state")
}

fn owner() -> StateOwner {
    StateOwner { cluster: "test".into(), process: ProcessId(1), group_size: 3 }
}

fn open(directory: &Path) -> Result<StableStorage, OpenError> {
    StableStorage::open(directory, &owner(), "token 1")
}

fn saved(state: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path()).expect("a store");
    store.save(state).expect("room on the disk");
    directory
}

#[test]
fn first_boot_has_session_one_and_no_state() {
    let directory = tempfile::tempdir().expect("a directory");
    let below = directory.path().join("not/yet/there");
    let store = open(&below).expect("a store");
    assert_eq!((store.session(), store.state()), (1, None));
    assert_eq!(store.directory(), below);
}

#[test]
fn each_boot_has_new_session_and_last_state() {
    let directory = tempfile::tempdir().expect("a directory");
    for session in 1..=5_u64 {
        let mut store = open(directory.path()).expect("a store");
        assert_eq!(store.session(), session);
        let before = (session > 1).then(|| format!("second of {}", session - 1));
        assert_eq!(store.state(), before.as_ref().map(String::as_bytes));
        store.save(b"first").expect("room on the disk");
        store.save(format!("second of {session}").as_bytes()).expect("room on the disk");
    }
}

#[test]
fn session_counts_without_saved_state() {
    let directory = tempfile::tempdir().expect("a directory");
    for session in 1..=3 {
        let store = open(directory.path()).expect("a store");
        assert_eq!((store.session(), store.state()), (session, None));
    }
}

#[test]
fn two_nodes_cannot_share_a_directory() {
    let directory = saved(b"mine");
    let first = open(directory.path()).expect("a store");
    let error = open(directory.path()).expect_err("it is in use");
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
    drop(first);
    let third = open(directory.path()).expect("it is free again");
    assert_eq!(third.session(), 3, "the rejected attempt used no session number");
}

#[test]
fn torn_state_file_is_an_error() {
    let directory = saved(b"a promise");
    let whole = fs::read(state_of(directory.path())).expect("a state");
    for length in [0, 5, 10, 30, whole.len() - 33, whole.len() - 1] {
        fs::write(state_of(directory.path()), &whole[..length]).expect("room");
        let error = open(directory.path()).expect_err("it is torn");
        let torn = UnreadableReason::Torn { length };
        assert!(
            matches!(&error, OpenError::Damaged { reason, .. } if *reason == torn),
            "{length}: {error}"
        );
        let left = fs::read(state_of(directory.path())).expect("a state");
        assert_eq!(left, &whole[..length], "the file is unchanged");
    }
}

#[test]
fn flipped_bit_is_reported_with_path() {
    let directory = saved(b"a promise");
    let mut bytes = fs::read(state_of(directory.path())).expect("a state");
    let place = bytes.len() - 35;
    bytes[place] ^= 4;
    fs::write(state_of(directory.path()), &bytes).expect("room");
    let error = open(directory.path()).expect_err("it is damaged");
    assert!(
        matches!(error, OpenError::Damaged { reason: UnreadableReason::Checksum, .. }),
        "{error}"
    );
    let path = state_of(directory.path()).display().to_string();
    assert!(error.to_string().contains(&path), "{error}");
}

#[test]
fn rejects_newer_version_with_message() {
    let directory = saved(b"a promise");
    let mut bytes = fs::read(state_of(directory.path())).expect("a state");
    bytes[8] = 4;
    fs::write(state_of(directory.path()), &bytes).expect("room");
    let error = open(directory.path()).expect_err("it is newer");
    assert!(matches!(error, OpenError::NewerVersion { .. }), "{error}");
    assert!(error.to_string().contains("format version 4"), "{error}");
}

#[test]
fn rejects_state_of_another_algorithm() {
    let directory = saved(b"a promise");
    let error =
        StableStorage::open(directory.path(), &owner(), "bully 1").expect_err("another algorithm");
    assert!(matches!(error, OpenError::WrongSchema { .. }), "{error}");
}

#[test]
fn rejects_state_of_another_owner_without_changes() {
    let directory = saved(b"a promise");
    let before = fs::read(state_of(directory.path())).expect("a state");
    for other in [
        StateOwner { cluster: "toast".into(), ..owner() },
        StateOwner { process: ProcessId(0), ..owner() },
        StateOwner { group_size: 5, ..owner() },
    ] {
        let error =
            StableStorage::open(directory.path(), &other, "token 1").expect_err("another owner");
        assert!(matches!(error, OpenError::WrongOwner { .. }), "{error}");
        let description = error.to_string();
        assert!(description.contains("P2 of 3 in the cluster \"test\""), "{description}");
        assert!(description.contains(&other.to_string()), "{description}");
        assert_eq!(fs::read(state_of(directory.path())).expect("a state"), before);
    }
    open(directory.path()).expect("the owner");
}

#[test]
fn rejects_session_at_limit() {
    for session in [u64::MAX, u64::MAX - 1, (1 << 40) - 1] {
        let directory = saved(b"a promise");
        let path = state_of(directory.path());
        let mut file = fs::read(&path).expect("a state");
        file.truncate(file.len() - 32);
        file[12..20].copy_from_slice(&session.to_le_bytes());
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        fs::write(&path, &file).expect("room");
        let error = open(directory.path()).expect_err("the last session");
        assert!(matches!(error, OpenError::ImpossibleSession { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("a state"), file);
    }
}

#[test]
fn temporary_state_file_is_ignored() {
    let directory = saved(b"before the crash");
    fs::write(directory.path().join("state.next"), b"half of what should fol").expect("room");
    let mut store = open(directory.path()).expect("a store");
    assert_eq!(store.state(), Some(b"before the crash".as_slice()));
    store.save(b"after").expect("room");
    assert!(!directory.path().join("state.next").exists());
}

#[test]
fn rejects_file_as_directory() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let error = open(file.path()).expect_err("not a directory");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}

#[test]
fn failed_save_keeps_earlier_state() {
    let directory = saved(b"before");
    let mut store = open(directory.path()).expect("a store");
    // A directory in place of the temporary file makes the write fail, even for root.
    fs::create_dir(directory.path().join("state.next")).expect("a directory");
    let error = store.save(b"after").expect_err("the file cannot be created");
    assert!(matches!(error, SaveError::NotWritten { .. }), "{error}");
    assert_eq!(store.state(), Some(b"before".as_slice()));
    fs::remove_dir(directory.path().join("state.next")).expect("an empty directory");
    drop(store);
    let store = open(directory.path()).expect("a store");
    assert_eq!(store.state(), Some(b"before".as_slice()));
}

fn segments(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut segments: Vec<_> =
        paths.filter(|path| path.display().to_string().contains("/log-")).collect();
    segments.sort();
    segments
}

#[test]
fn changes_survive_restarts_in_order() {
    let directory = saved(b"whole");
    let mut expected: Vec<Vec<u8>> = Vec::new();
    for session in 0..4_u8 {
        let mut store = open(directory.path()).expect("a store");
        assert_eq!(store.state(), Some(b"whole".as_slice()));
        assert_eq!(store.recovered_changes(), expected);
        for number in 0..session {
            store.append(&[session, number]).expect("room");
            expected.push(vec![session, number]);
        }
    }
    let mut store = open(directory.path()).expect("a store");
    store.append(b"more").expect("room");
    store.save(b"new whole").expect("room");
    assert!(segments(directory.path()).is_empty(), "the changes are in the state file");
    store.append(b"change").expect("room");
    drop(store);
    let store = open(directory.path()).expect("a store");
    assert_eq!(store.state(), Some(b"new whole".as_slice()));
    assert_eq!(store.recovered_changes(), [b"change".to_vec()]);
}

#[test]
fn full_segment_is_followed_by_another() {
    let directory = saved(b"whole");
    let mut store = open(directory.path()).expect("a store");
    assert!(!store.is_rewrite_due());
    for number in 0..9_u8 {
        store.append(&vec![number; 20 << 10]).expect("room");
    }
    // A change that is longer than any segment.
    store.append(&vec![9; 200 << 10]).expect("room");
    assert!(store.is_rewrite_due(), "the changes are longer than the state");
    assert_eq!(segments(directory.path()).len(), 4);
    drop(store);
    let left: Vec<Vec<u8>> =
        segments(directory.path()).iter().map(|path| fs::read(path).expect("a file")).collect();
    let names = segments(directory.path());
    // A missing segment is an error.
    fs::remove_file(&names[1]).expect("a file");
    let error = open(directory.path()).expect_err("a segment is missing");
    assert!(error.to_string().contains("missing"), "{error}");
    fs::write(&names[1], &left[1]).expect("room");
    // A torn record before another segment is an error.
    let mut torn = left[1].clone();
    torn[1000..].fill(0);
    fs::write(&names[1], &torn).expect("room");
    let error = open(directory.path()).expect_err("a segment is torn in the middle");
    let damaged =
        matches!(error, OpenError::Damaged { reason: UnreadableReason::Record { .. }, .. });
    assert!(damaged && error.to_string().contains("at byte"), "{error}");
    assert!(error.to_string().contains(&names[1].display().to_string()), "{error}");
    fs::write(&names[1], &left[1]).expect("room");
    let store = open(directory.path()).expect("all segments are complete");
    let lengths: Vec<usize> = store.recovered_changes().iter().map(Vec::len).collect();
    assert_eq!(lengths, [[20 << 10; 9].as_slice(), &[200 << 10]].concat());
}

#[test]
fn rejects_deleted_newest_segment() {
    let directory = saved(b"whole");
    // The first iteration deletes the only segment. The second iteration deletes the last of
    // several segments.
    for count in [1, 9_u8] {
        let mut store = open(directory.path()).expect("a store");
        for number in 0..count {
            store.append(&vec![number; 20 << 10]).expect("room");
        }
        drop(store);
        let newest = segments(directory.path()).pop().expect("a segment");
        let content = fs::read(&newest).expect("a file");
        fs::remove_file(&newest).expect("a file");
        match open(directory.path()).expect_err("the newest segment is missing") {
            OpenError::Damaged { path, reason: UnreadableReason::Deleted } => {
                assert_eq!(path, newest)
            }
            other => panic!("{other}"),
        }
        fs::write(&newest, content).expect("room");
        let store = open(directory.path()).expect("all segments are there");
        assert_eq!(store.recovered_changes().last().map(|change| change[0]), Some(count - 1));
    }
}

/// A crash may separate the creation of a segment from that of its marker.
#[test]
fn segment_without_marker_is_read() {
    let directory = saved(b"whole");
    let mut store = open(directory.path()).expect("a store");
    store.append(b"change").expect("room");
    drop(store);
    let entries = fs::read_dir(directory.path()).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let markers: Vec<_> =
        paths.filter(|path| path.display().to_string().contains("/newest-")).collect();
    assert_eq!(markers.len(), 1);
    fs::remove_file(&markers[0]).expect("a file");
    let store = open(directory.path()).expect("a store");
    assert_eq!(store.recovered_changes(), [b"change".to_vec()]);
}

/// Checks the size of a new segment: twice the size of the state, but at least 64 KiB and at most
/// 256 KiB.
#[test]
fn segment_size_grows_with_state_up_to_limit() {
    let kib = |of: u64| of << 10;
    for (whole, expected) in [(5, kib(64)), (100 << 10, kib(200)), (3 << 20, kib(256))] {
        let directory = saved(&vec![7; whole]);
        let mut store = open(directory.path()).expect("a store");
        store.append(b"change").expect("room");
        drop(store);
        let made = segments(directory.path());
        let lengths: Vec<u64> =
            made.iter().map(|path| fs::metadata(path).expect("a file").len()).collect();
        assert_eq!(lengths, [expected], "after a state of {whole} bytes");
        let store = open(directory.path()).expect("a store");
        assert_eq!(store.state(), Some(vec![7; whole].as_slice()));
    }
}

/// Saves the state `one`, appends the change `two`, and then starts to rewrite the state as `one
/// two`. Appends a change during the rewrite and another change after the rewrite. Returns the
/// result of the rewrite.
fn rewritten(store: &mut StableStorage) -> Result<(), SaveError> {
    store.save(b"one").expect("room");
    store.append(b"two").expect("room");
    let (done, wait) = mpsc::channel();
    store.rewrite_in_background(
        || b"one two".to_vec(),
        move |it| done.send(it).expect("the receiver exists"),
    );
    store.append(b"three").expect("room");
    let done = wait.recv().expect("the rewrite ends");
    store.append(b"four").expect("room");
    done
}

/// Checks that the thread that rewrites the state has a lower priority than the thread that saves.
/// The test needs Linux, because only Linux has a priority for each thread.
#[cfg(target_os = "linux")]
#[test]
fn rewrite_has_lower_priority_than_saves() {
    let priority = || rustix::process::getpriority_process(None).expect("a thread has one");
    let directory = saved(b"one");
    let mut store = open(directory.path()).expect("a store");
    let (done, wait) = mpsc::channel();
    let state = move || {
        done.send(priority()).expect("the receiver exists");
        b"one".to_vec()
    };
    let before = priority();
    store.rewrite_in_background(state, |it| it.expect("room"));
    let of_rewriting = wait.recv().expect("the state is requested");
    assert_eq!((of_rewriting, priority()), ((before + 10).min(19), before));
}

#[test]
fn changes_during_rewrite_follow_new_state() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path()).expect("a store");
    rewritten(&mut store).expect("room");
    assert_eq!(segments(directory.path()).len(), 1, "earlier segments are removed");
    drop(store);
    let store = open(directory.path()).expect("a store");
    assert_eq!(store.state(), Some(b"one two".as_slice()));
    assert_eq!(store.recovered_changes(), [b"three".to_vec(), b"four".to_vec()]);
}

/// Makes a rewrite fail before the new state replaces the old state. Checks that the old state and
/// all changes are intact.
#[test]
fn unfinished_rewrite_keeps_state_and_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path()).expect("a store");
    let next = directory.path().join("state.next");
    store.save(b"nothing").expect("room");
    store.append(b"nothing").expect("room");
    let (done, wait) = mpsc::channel();
    fs::create_dir(&next).expect("room");
    store.rewrite_in_background(
        || b"all".to_vec(),
        move |it| done.send(it).expect("the receiver exists"),
    );
    store.append(b"more").expect("the append is not delayed");
    let error = wait.recv().expect("the rewrite ends").expect_err("a directory is in its place");
    assert!(matches!(error, SaveError::NotWritten { .. }), "{error}");
    store.append(b"and more").expect("room");
    drop(store);
    fs::remove_dir(&next).expect("the directory exists");
    let store = open(directory.path()).expect("a store");
    assert_eq!(store.state(), Some(b"nothing".as_slice()));
    let added = [b"nothing".to_vec(), b"more".to_vec(), b"and more".to_vec()];
    assert_eq!(store.recovered_changes(), added);
}

#[test]
fn rejects_changes_without_state() {
    let directory = saved(b"whole");
    let mut store = open(directory.path()).expect("a store");
    store.append(b"change").expect("room");
    drop(store);
    fs::remove_file(state_of(directory.path())).expect("a state");
    let error = open(directory.path()).expect_err("the state is missing");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[test]
fn rejects_changes_of_another_process() {
    let directories = [saved(b"whole"), saved(b"whole")];
    let other = StateOwner { process: ProcessId(2), ..owner() };
    let elsewhere = tempfile::tempdir().expect("a directory");
    let mut store = StableStorage::open(elsewhere.path(), &other, "token 1").expect("a store");
    store.save(b"whole").expect("room");
    store.append(b"change").expect("room");
    let segment = segments(elsewhere.path()).remove(0);
    // Both stores have the same number of segments.
    fs::copy(&segment, directories[0].path().join(segment.file_name().expect("a name")))
        .expect("room");
    let error = open(directories[0].path()).expect_err("another owner");
    assert!(matches!(error, OpenError::WrongOwner { .. }), "{error}");
}

/// Opens a store whose first segment contains `bytes`, and returns the changes that the store
/// finds.
fn found_in(bytes: &[u8]) -> Result<Vec<Vec<u8>>, OpenError> {
    let directory = saved(b"whole");
    fs::write(directory.path().join("log-0000000001"), bytes).expect("room");
    let store = open(directory.path())?;
    Ok(store.recovered_changes().to_vec())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(8))]

    #[test]
    fn torn_record_is_cut_and_damage_is_rejected(
        lengths in proptest::collection::vec(0_usize..1_500, 1..6),
        place in 0_f64..1.0,
        bit in 0_u8..8,
    ) {
        let directory = saved(b"whole");
        let mut store = open(directory.path()).expect("a store");
        let mut ends = Vec::new();
        for (number, length) in (1..).zip(&lengths) {
            store.append(&vec![number; *length]).expect("room");
            let file = fs::read(&segments(directory.path())[0]).expect("a segment");
            ends.push(file.iter().rposition(|byte| *byte != 0).expect("a record") + 1);
        }
        let whole = fs::read(&segments(directory.path())[0]).expect("a segment");
        let place = (place * ends[ends.len() - 1] as f64) as usize;
        let mut torn = whole.clone();
        torn[place..].fill(0);
        let complete = ends.iter().filter(|end| **end <= place).count();
        match found_in(&torn) {
            Ok(found) => proptest::prop_assert_eq!(found.len(), complete),
            // Only a torn header is an error. A crash cannot cause one, because the header is
            // durable before the segment has its name.
            Err(_) => proptest::prop_assert!(place < 44),
        }
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << bit;
        if let Ok(found) = found_in(&damaged) {
            proptest::prop_assert!(damaged[place] == 1 << bit, "byte {place} is used");
            proptest::prop_assert_eq!(found.len(), lengths.len());
        }
    }
}

/// Tests on a full disk. They need a small file system of their own, and therefore Linux and root.
#[cfg(target_os = "linux")]
mod full_disk {
    use std::fs::File;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;
    use crate::skipped::report_skip;

    /// A small file system in memory, unmounted when dropped.
    struct SmallDisk(tempfile::TempDir);

    impl SmallDisk {
        /// Creates the file system. If this user may not mount a file system, prints a message and
        /// returns `None`.
        fn new(bytes: u32) -> Option<SmallDisk> {
            let directory = tempfile::tempdir().expect("a directory");
            let options = std::ffi::CString::new(format!("size={bytes}")).expect("no zero byte");
            let flags = MountFlags::empty();
            match mount("tmpfs", directory.path(), "tmpfs", flags, Some(options.as_c_str())) {
                Ok(()) => Some(SmallDisk(directory)),
                Err(error) => {
                    report_skip(&format!("the right to mount a file system: {error}"));
                    None
                }
            }
        }

        /// Creates a second file system, in a sparse file on the small file system `self`. When
        /// `self` is full, the second file system reports a full disk, but only during a flush.
        /// If a tool or a loop device is missing, prints a message and returns `None`.
        fn disk_that_fills_up(&self) -> Option<LazyDisk> {
            let image = self.0.path().join("image");
            File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("a sparse file");
            let directory = tempfile::tempdir().expect("a directory");
            let done = |program: &str, words: &[&str], paths: &[&Path]| {
                let mut command = Command::new(program);
                command.args(words).args(paths).stderr(Stdio::null());
                command.status().is_ok_and(|status| status.success())
            };
            if !done("mkfs.ext4", &["-q", "-F", "-O", "^has_journal"], &[&image]) {
                report_skip("mkfs.ext4 (Debian: e2fsprogs)");
                return None;
            }
            if !done("mount", &["-o", "loop"], &[&image, directory.path()]) {
                report_skip("a loop device");
                return None;
            }
            Some(LazyDisk(directory))
        }

        fn fill(&self) {
            let mut file = File::create(self.0.path().join("filling")).expect("a file");
            while file.write_all(&[1; 4096]).is_ok() {}
        }
    }

    /// A file system in a sparse file, unmounted when dropped.
    struct LazyDisk(tempfile::TempDir);

    impl Drop for LazyDisk {
        fn drop(&mut self) {
            unmount(self.0.path(), UnmountFlags::DETACH).expect("a mounted file system");
        }
    }

    impl Drop for SmallDisk {
        fn drop(&mut self) {
            unmount(self.0.path(), UnmountFlags::DETACH).expect("a mounted file system");
        }
    }

    #[test]
    fn failed_flush_is_a_failed_save() {
        let Some(disk) = SmallDisk::new(2 << 20) else { return };
        let Some(lazy) = disk.disk_that_fills_up() else { return };
        let mut store = open(lazy.0.path()).expect("a store");
        store.save(b"before").expect("room for little");
        disk.fill();
        // The write reaches only the memory of the operating system, so only the flush can fail.
        let error = store.save(&vec![1; 1 << 20]).expect_err("the flush fails");
        let failed = matches!(error, SaveError::DiskFull { .. } | SaveError::NotWritten { .. });
        assert!(failed, "{error}");
        assert_eq!(store.state(), Some(b"before".as_slice()));
    }

    #[test]
    fn full_disk_is_reported_and_keeps_earlier_state() {
        let Some(disk) = SmallDisk::new(64 << 10) else { return };
        let mut store = open(disk.0.path()).expect("a store");
        store.save(b"before").expect("room for little");
        let error = store.save(&vec![1; 1 << 20]).expect_err("the disk is full");
        assert!(matches!(error, SaveError::DiskFull { .. }), "{error}");
        assert_eq!(store.state(), Some(b"before".as_slice()));
        let rest = disk.0.path().join("state.next");
        assert!(!rest.exists(), "a failed write must leave no file");
        store.save(b"after").expect("room again");
        drop(store);
        let store = open(disk.0.path()).expect("a store");
        assert_eq!(store.state(), Some(b"after".as_slice()));
    }
}
