//! The store on a real disk: what it finds again, and what it refuses to believe.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use tenure_runtime::Store;
use tenure_runtime::store::{Damage, OpenError, Owner, SaveError};

fn state_of(directory: &Path) -> std::path::PathBuf {
    directory.join("state")
}

fn owner() -> Owner {
    Owner { cluster: "test".into(), process: ProcessId(1), group_size: 3 }
}

/// A directory with one saved state, nobody owning it.
fn saved(state: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    store.save(state).expect("room on the disk");
    directory
}

#[test]
fn a_first_boot_finds_nothing_and_is_session_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let below = directory.path().join("not/yet/there");
    let store = Store::open(&below, &owner(), "token 1").expect("a store");
    assert_eq!((store.session(), store.state()), (1, None));
    assert_eq!(store.directory(), below);
}

#[test]
fn every_boot_is_a_new_session_and_finds_what_was_saved_last() {
    let directory = tempfile::tempdir().expect("a directory");
    for session in 1..=5_u64 {
        let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
        assert_eq!(store.session(), session);
        let before = (session > 1).then(|| format!("second of {}", session - 1));
        assert_eq!(store.state(), before.as_ref().map(String::as_bytes));
        store.save(b"first").expect("room on the disk");
        store.save(format!("second of {session}").as_bytes()).expect("room on the disk");
    }
}

#[test]
fn a_session_counts_even_if_nothing_was_ever_saved() {
    let directory = tempfile::tempdir().expect("a directory");
    for session in 1..=3 {
        let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
        assert_eq!((store.session(), store.state()), (session, None));
    }
}

#[test]
fn two_nodes_cannot_share_a_directory() {
    let directory = saved(b"mine");
    let first = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    let error = Store::open(directory.path(), &owner(), "token 1").expect_err("it is in use");
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
    drop(first);
    let third = Store::open(directory.path(), &owner(), "token 1").expect("it is free again");
    assert_eq!(third.session(), 3, "the refused attempt was no session");
}

#[test]
fn a_torn_write_is_told_and_never_taken_for_nothing() {
    let directory = saved(b"a promise");
    let whole = fs::read(state_of(directory.path())).expect("a state");
    for length in [0, 5, 10, 30, whole.len() - 33, whole.len() - 1] {
        fs::write(state_of(directory.path()), &whole[..length]).expect("room");
        let error = Store::open(directory.path(), &owner(), "token 1").expect_err("it is torn");
        let torn = Damage::Torn { length };
        assert!(
            matches!(&error, OpenError::Damaged { damage, .. } if *damage == torn),
            "{length}: {error}"
        );
        let left = fs::read(state_of(directory.path())).expect("a state");
        assert_eq!(left, &whole[..length], "the evidence was left alone");
    }
}

#[test]
fn a_flipped_bit_is_told_with_the_path() {
    let directory = saved(b"a promise");
    let mut bytes = fs::read(state_of(directory.path())).expect("a state");
    let place = bytes.len() - 35;
    bytes[place] ^= 4;
    fs::write(state_of(directory.path()), &bytes).expect("room");
    let error = Store::open(directory.path(), &owner(), "token 1").expect_err("it is hurt");
    assert!(matches!(error, OpenError::Damaged { damage: Damage::Checksum, .. }), "{error}");
    let path = state_of(directory.path()).display().to_string();
    assert!(error.to_string().contains(&path), "{error}");
}

#[test]
fn a_newer_version_is_refused_with_a_sentence() {
    let directory = saved(b"a promise");
    let mut bytes = fs::read(state_of(directory.path())).expect("a state");
    bytes[8] = 4;
    fs::write(state_of(directory.path()), &bytes).expect("room");
    let error = Store::open(directory.path(), &owner(), "token 1").expect_err("it is newer");
    assert!(matches!(error, OpenError::NewerVersion { .. }), "{error}");
    assert!(error.to_string().contains("format version 4"), "{error}");
}

#[test]
fn the_memory_of_another_algorithm_is_refused() {
    let directory = saved(b"a promise");
    let error = Store::open(directory.path(), &owner(), "bully 1").expect_err("it is of another");
    assert!(matches!(error, OpenError::WrongSchema { .. }), "{error}");
}

#[test]
fn the_memory_of_another_process_group_or_cluster_is_refused_and_left_alone() {
    let directory = saved(b"a promise");
    let before = fs::read(state_of(directory.path())).expect("a state");
    for other in [
        Owner { cluster: "toast".into(), ..owner() },
        Owner { process: ProcessId(0), ..owner() },
        Owner { group_size: 5, ..owner() },
    ] {
        let error = Store::open(directory.path(), &other, "token 1").expect_err("of another");
        assert!(matches!(error, OpenError::WrongOwner { .. }), "{error}");
        let says = error.to_string();
        assert!(says.contains("P2 of 3 in the cluster \"test\""), "{says}");
        assert!(says.contains(&other.to_string()), "{says}");
        assert_eq!(fs::read(state_of(directory.path())).expect("a state"), before);
    }
    Store::open(directory.path(), &owner(), "token 1").expect("its own");
}

#[test]
fn sessions_end_before_they_would_begin_anew() {
    for session in [u64::MAX, u64::MAX - 1, (1 << 40) - 1] {
        let directory = saved(b"a promise");
        let path = state_of(directory.path());
        let mut file = fs::read(&path).expect("a state");
        file.truncate(file.len() - 32);
        file[12..20].copy_from_slice(&session.to_le_bytes());
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        fs::write(&path, &file).expect("room");
        let error = Store::open(directory.path(), &owner(), "token 1").expect_err("the last");
        assert!(matches!(error, OpenError::Session { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("a state"), file);
    }
}

#[test]
fn a_write_that_never_took_its_place_is_forgotten() {
    let directory = saved(b"before the crash");
    fs::write(directory.path().join("state.next"), b"half of what should fol").expect("room");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert_eq!(store.state(), Some(b"before the crash".as_slice()));
    store.save(b"after").expect("room");
    assert!(!directory.path().join("state.next").exists());
}

#[test]
fn a_directory_that_is_a_file_is_told() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let error = Store::open(file.path(), &owner(), "token 1").expect_err("not a directory");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
}

#[test]
fn what_cannot_be_written_leaves_what_was_there() {
    let directory = saved(b"before");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    // In the way of the temporary file: this stops even root.
    fs::create_dir(directory.path().join("state.next")).expect("a directory");
    let error = store.save(b"after").expect_err("nowhere to write");
    assert!(matches!(error, SaveError::Unwritten { .. }), "{error}");
    assert_eq!(store.state(), Some(b"before".as_slice()));
    fs::remove_dir(directory.path().join("state.next")).expect("an empty directory");
    drop(store);
    let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert_eq!(store.state(), Some(b"before".as_slice()));
}

/// The segments of a directory, in order.
fn segments(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut segments: Vec<_> =
        paths.filter(|path| path.display().to_string().contains("/log-")).collect();
    segments.sort();
    segments
}

#[test]
fn changes_are_found_behind_the_state_whatever_the_session() {
    let directory = saved(b"whole");
    let mut expected: Vec<Vec<u8>> = Vec::new();
    for session in 0..4_u8 {
        let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
        assert_eq!(store.state(), Some(b"whole".as_slice()));
        assert_eq!(store.changes(), expected);
        for number in 0..session {
            store.append(&[session, number]).expect("room");
            expected.push(vec![session, number]);
        }
    }
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    store.append(b"more").expect("room");
    store.save(b"new whole").expect("room");
    assert!(segments(directory.path()).is_empty(), "they are in the state file");
    store.append(b"change").expect("room");
    drop(store);
    let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert_eq!(store.state(), Some(b"new whole".as_slice()));
    assert_eq!(store.changes(), [b"change".to_vec()]);
}

#[test]
fn changes_go_on_in_another_file_when_one_is_full() {
    let directory = saved(b"whole");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert!(!store.is_long());
    for number in 0..9_u8 {
        store.append(&vec![number; 20 << 10]).expect("room");
    }
    // One that is longer than any file.
    store.append(&vec![9; 200 << 10]).expect("room");
    assert!(store.is_long(), "the state has five bytes, and the changes many");
    assert_eq!(segments(directory.path()).len(), 4);
    drop(store);
    let left: Vec<Vec<u8>> =
        segments(directory.path()).iter().map(|path| fs::read(path).expect("a file")).collect();
    let names = segments(directory.path());
    let open = || Store::open(directory.path(), &owner(), "token 1");
    // Without one of them, nothing is believed.
    fs::remove_file(&names[1]).expect("a file");
    let error = open().expect_err("one is missing");
    assert!(error.to_string().contains("missing"), "{error}");
    fs::write(&names[1], &left[1]).expect("room");
    // Nor is a torn record, where another file comes after it.
    let mut torn = left[1].clone();
    torn[1000..].fill(0);
    fs::write(&names[1], &torn).expect("room");
    let error = open().expect_err("one is torn in the middle");
    let hurt = matches!(error, OpenError::Damaged { damage: Damage::Record { .. }, .. });
    assert!(hurt && error.to_string().contains("at its byte"), "{error}");
    assert!(error.to_string().contains(&names[1].display().to_string()), "{error}");
    fs::write(&names[1], &left[1]).expect("room");
    let store = open().expect("all is there again");
    let lengths: Vec<usize> = store.changes().iter().map(Vec::len).collect();
    assert_eq!(lengths, [[20 << 10; 9].as_slice(), &[200 << 10]].concat());
}

/// A long file would keep what is saved from the disk while it is made.
#[test]
fn files_of_changes_are_longer_with_the_state_and_never_long() {
    let kib = |of: u64| of << 10;
    for (whole, expected) in [(5, kib(64)), (100 << 10, kib(200)), (3 << 20, kib(256))] {
        let directory = saved(&vec![7; whole]);
        let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
        store.append(b"change").expect("room");
        drop(store);
        let made = segments(directory.path());
        let lengths: Vec<u64> =
            made.iter().map(|path| fs::metadata(path).expect("a file").len()).collect();
        assert_eq!(lengths, [expected], "behind a state of {whole} bytes");
        let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
        assert_eq!(store.state(), Some(vec![7; whole].as_slice()));
    }
}

/// Replaces a state by one that has what was added to it, while more is added.
fn rewritten(store: &mut Store) -> Result<(), SaveError> {
    store.save(b"one").expect("room");
    store.append(b"two").expect("room");
    let (done, wait) = mpsc::channel();
    store.rewrite(|| b"one two".to_vec(), move |it| done.send(it).expect("somebody waits"));
    store.append(b"three").expect("room");
    let done = wait.recv().expect("it ends");
    store.append(b"four").expect("room");
    done
}

/// Elsewhere threads have no priority of their own.
#[cfg(target_os = "linux")]
#[test]
fn who_rewrites_all_leaves_the_processor_to_whoever_saves() {
    let priority = || rustix::process::getpriority_process(None).expect("a thread has one");
    let directory = saved(b"one");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    let (done, wait) = mpsc::channel();
    let state = move || {
        done.send(priority()).expect("somebody waits");
        b"one".to_vec()
    };
    let before = priority();
    store.rewrite(state, |it| it.expect("room"));
    let of_rewriting = wait.recv().expect("it is asked for");
    assert_eq!((of_rewriting, priority()), ((before + 10).min(19), before));
}

#[test]
fn what_is_added_while_all_is_rewritten_comes_behind_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    rewritten(&mut store).expect("room");
    assert_eq!(segments(directory.path()).len(), 1, "what came before is not needed");
    drop(store);
    let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert_eq!(store.state(), Some(b"one two".as_slice()));
    assert_eq!(store.changes(), [b"three".to_vec(), b"four".to_vec()]);
}

/// As a crash leaves it before the new state takes its place.
#[test]
fn until_all_is_rewritten_what_was_there_is_found_with_all_that_was_added() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    let next = directory.path().join("state.next");
    store.save(b"nothing").expect("room");
    store.append(b"nothing").expect("room");
    let (done, wait) = mpsc::channel();
    fs::create_dir(&next).expect("room");
    store.rewrite(|| b"all".to_vec(), move |it| done.send(it).expect("somebody waits"));
    store.append(b"more").expect("it is not held up");
    let error = wait.recv().expect("it ends").expect_err("a folder is in its place");
    assert!(matches!(error, SaveError::Unwritten { .. }), "{error}");
    store.append(b"and more").expect("room");
    drop(store);
    fs::remove_dir(&next).expect("it is there");
    let store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    assert_eq!(store.state(), Some(b"nothing".as_slice()));
    let added = [b"nothing".to_vec(), b"more".to_vec(), b"and more".to_vec()];
    assert_eq!(store.changes(), added);
}

#[test]
fn changes_without_the_state_that_they_change_are_not_believed() {
    let directory = saved(b"whole");
    let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
    store.append(b"change").expect("room");
    drop(store);
    fs::remove_file(state_of(directory.path())).expect("a state");
    let error = Store::open(directory.path(), &owner(), "token 1").expect_err("half of it");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[test]
fn the_changes_of_another_process_are_refused() {
    let directories = [saved(b"whole"), saved(b"whole")];
    let other = Owner { process: ProcessId(2), ..owner() };
    let elsewhere = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(elsewhere.path(), &other, "token 1").expect("a store");
    store.save(b"whole").expect("room");
    store.append(b"change").expect("room");
    let segment = segments(elsewhere.path()).remove(0);
    // Both have had as many segments.
    fs::copy(&segment, directories[0].path().join(segment.file_name().expect("a name")))
        .expect("room");
    let error = Store::open(directories[0].path(), &owner(), "token 1").expect_err("of another");
    assert!(matches!(error, OpenError::WrongOwner { .. }), "{error}");
}

/// What a store finds after the first segment has become these bytes.
fn found_in(bytes: &[u8]) -> Result<Vec<Vec<u8>>, OpenError> {
    let directory = saved(b"whole");
    fs::write(directory.path().join("log-0000000001"), bytes).expect("room");
    let store = Store::open(directory.path(), &owner(), "token 1")?;
    Ok(store.changes().to_vec())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(8))]

    #[test]
    fn what_is_torn_is_cut_and_what_is_hurt_is_refused(
        lengths in proptest::collection::vec(0_usize..1_500, 1..6),
        place in 0_f64..1.0,
        bit in 0_u8..8,
    ) {
        let directory = saved(b"whole");
        let mut store = Store::open(directory.path(), &owner(), "token 1").expect("a store");
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
            // The heading was durable before the file had its name.
            Err(_) => proptest::prop_assert!(place < 44),
        }
        let mut hurt = whole.clone();
        hurt[place] ^= 1 << bit;
        if let Ok(found) = found_in(&hurt) {
            proptest::prop_assert!(hurt[place] == 1 << bit, "{place} was written");
            proptest::prop_assert_eq!(found.len(), lengths.len());
        }
    }
}

/// Needs a small file system of its own, which only Linux mounts this easily, and only for root.
#[cfg(target_os = "linux")]
mod full_disk {
    use std::fs::File;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;

    /// A file system in memory, gone when dropped.
    struct SmallDisk(tempfile::TempDir);

    impl SmallDisk {
        /// Nothing if this user may not mount.
        fn new(bytes: u32) -> Option<SmallDisk> {
            let directory = tempfile::tempdir().expect("a directory");
            let options = std::ffi::CString::new(format!("size={bytes}")).expect("no zero byte");
            let flags = MountFlags::empty();
            mount("tmpfs", directory.path(), "tmpfs", flags, Some(options.as_c_str())).ok()?;
            Some(SmallDisk(directory))
        }

        /// A file system on a file of this one, which finds out when it flushes that there is no
        /// room for the file. Nothing without the tools for it.
        fn disk_that_fills_up(&self) -> Option<LazyDisk> {
            let image = self.0.path().join("image");
            File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("a sparse file");
            let directory = tempfile::tempdir().expect("a directory");
            let done = |program: &str, words: &[&str], paths: &[&Path]| {
                let mut command = Command::new(program);
                command.args(words).args(paths).stderr(Stdio::null());
                command.status().is_ok_and(|status| status.success())
            };
            let made = done("mkfs.ext4", &["-q", "-F", "-O", "^has_journal"], &[&image])
                && done("mount", &["-o", "loop"], &[&image, directory.path()]);
            made.then_some(LazyDisk(directory))
        }

        /// Uses up what is left.
        fn fill(&self) {
            let mut file = File::create(self.0.path().join("filling")).expect("a file");
            while file.write_all(&[1; 4096]).is_ok() {}
        }
    }

    /// A file system on a file, gone when dropped.
    struct LazyDisk(tempfile::TempDir);

    impl Drop for LazyDisk {
        fn drop(&mut self) {
            unmount(self.0.path(), UnmountFlags::DETACH).expect("what was mounted");
        }
    }

    impl Drop for SmallDisk {
        fn drop(&mut self) {
            unmount(self.0.path(), UnmountFlags::DETACH).expect("what was mounted");
        }
    }

    #[test]
    fn a_disk_that_fails_at_the_flush_has_not_saved() {
        let small = SmallDisk::new(2 << 20);
        let Some((disk, lazy)) =
            small.and_then(|it| it.disk_that_fills_up().map(|lazy| (it, lazy)))
        else {
            let _ = writeln!(std::io::stderr(), "skipped: needs root and mkfs.ext4");
            return;
        };
        let mut store = Store::open(lazy.0.path(), &owner(), "token 1").expect("a store");
        store.save(b"before").expect("room for little");
        disk.fill();
        // All of it is written, to memory.
        let error = store.save(&vec![1; 1 << 20]).expect_err("the flush finds no room");
        let failed = matches!(error, SaveError::Full { .. } | SaveError::Unwritten { .. });
        assert!(failed, "{error}");
        assert_eq!(store.state(), Some(b"before".as_slice()));
    }

    #[test]
    fn a_full_disk_is_told_and_leaves_what_was_there() {
        let Some(disk) = SmallDisk::new(64 << 10) else {
            // Not a way to pass: whoever reads the output sees that this was not tested.
            let _ = writeln!(std::io::stderr(), "skipped: needs root");
            return;
        };
        let mut store = Store::open(disk.0.path(), &owner(), "token 1").expect("a store");
        store.save(b"before").expect("room for little");
        let error = store.save(&vec![1; 1 << 20]).expect_err("no room for much");
        assert!(matches!(error, SaveError::Full { .. }), "{error}");
        assert_eq!(store.state(), Some(b"before".as_slice()));
        let rest = disk.0.path().join("state.next");
        assert!(!rest.exists(), "the rest of a failed write must not fill the disk");
        store.save(b"after").expect("room again");
        drop(store);
        let store = Store::open(disk.0.path(), &owner(), "token 1").expect("a store");
        assert_eq!(store.state(), Some(b"after".as_slice()));
    }
}
