//! Tests of `tenure lock` with shared access, with slots, and with several locks.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::NamedTempFile;

use crate::hold::{Service, ended, lines, until};
use crate::killed::Killed;
use crate::skipped::report_skip;

/// A wrapper whose command holds a lock until the test removes a file.
struct Holder {
    child: Killed,
    file: Option<NamedTempFile>,
}

impl Holder {
    fn start(service: &Service, options: &str) -> Holder {
        let file = NamedTempFile::new().expect("a file");
        let (child, _) = service.running(options, &script(file.path()));
        Holder { child, file: Some(file) }
    }

    fn end(mut self) {
        drop(self.file.take());
        let (status, message) = ended(self.child);
        assert_eq!((status, &message[..]), (0, ""));
    }
}

fn script(path: &Path) -> String {
    format!("echo in; while [ -e {} ]; do sleep 0.02; done", path.display())
}

/// Starts a wrapper that waits in the queue of lock `a`, behind this number of clients.
fn waiting(service: &Service, options: &str, before: usize) -> Killed {
    let child = Killed(service.wrapper(options, "echo in").spawn().expect("the command starts"));
    until(|| service.asking_for_a() == before + 1);
    child
}

fn attempt(service: &Service, options: &str) -> Option<i32> {
    service.run(options, "true").status.code()
}

/// Waits until the command of a wrapper prints `in`, which shows that the wrapper has acquired its
/// lock. Then waits until the wrapper has ended, and asserts that it succeeds.
fn acquires(mut child: Killed) {
    assert_eq!(child.first_line(), "in");
    assert_eq!(ended(child).0, 0);
}

#[test]
fn shared_holders_overlap_and_exclude_exclusive_ones() {
    let service = Service::start();
    let [one, other] = [(); 2].map(|()| Holder::start(&service, "lock --shared a"));
    assert_eq!(attempt(&service, "lock --try a"), Some(120), "both hold it");
    let writer = waiting(&service, "lock a", 2);
    // A reader does not overtake a writer that waits.
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(120));
    let reader = waiting(&service, "lock --shared a", 3);
    one.end();
    assert_eq!(service.asking_for_a(), 3, "one reader is left");
    assert_eq!(attempt(&service, "lock --try a"), Some(120));
    other.end();
    acquires(writer);
    acquires(reader);

    let exclusive = Holder::start(&service, "lock a");
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(120));
    let readers = [1, 2].map(|before| waiting(&service, "lock --shared a", before));
    exclusive.end();
    readers.into_iter().for_each(acquires);
    assert_eq!(service.leases(), 0);
}

/// With `--slots 3`, at most three of eight commands run at the same time. Each command creates a
/// folder at its start and removes the folder at its end. In between, it counts the folders of all
/// commands.
#[test]
fn slots_bound_the_number_of_holders() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display();
    let script =
        format!("mkdir {at}/$TENURE_FENCE; ls {at} | wc -l; sleep 0.1; rmdir {at}/$TENURE_FENCE");
    let children: Vec<Killed> = (0..8)
        .map(|_| service.wrapper("lock --slots 3 a", &script).spawn().expect("it starts").into())
        .collect();
    let counts = children.into_iter().map(|child| {
        let output = child.wait_with_output();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let count = String::from_utf8(output.stdout).expect("text");
        count.trim().parse::<usize>().expect("a number")
    });
    assert!(counts.max().is_some_and(|most| most <= 3));

    let holders = [(); 3].map(|()| Holder::start(&service, "lock --slots 3 a"));
    assert_eq!(attempt(&service, "lock --slots 3 --try a"), Some(120), "all are in use");
    assert_eq!(attempt(&service, "lock --try a"), Some(120), "an exclusive one excludes them");
    let other = service.run("lock --slots 4 a", "true");
    let message = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(120), "{message}");
    assert!(message.contains("semaphore 'a' has '3' permits, not '4'"), "{message}");
    let next = waiting(&service, "lock --slots 3 a", 3);
    let [first, rest @ ..] = holders;
    first.end();
    acquires(next);
    rest.into_iter().for_each(Holder::end);
    // Without holders, a client may choose another number of slots.
    assert_eq!(attempt(&service, "lock --slots 4 a"), Some(0));
}

#[test]
fn several_locks_are_held_together_or_not_at_all() {
    let service = Service::start();
    let output = service.run("lock --all b,a,c,a", "echo $TENURE_LOCK; echo $TENURE_FENCE");
    let text = String::from_utf8(output.stdout).expect("text");
    let (names, fences) = text.trim().split_once('\n').expect("two lines");
    let fences: Vec<u64> = fences.split(',').map(|it| it.parse().expect("a number")).collect();
    assert_eq!((names, fences.len()), ("a,b,c", 3));
    assert!(fences.is_sorted(), "they are acquired in the order of their names");

    let holder = Holder::start(&service, "lock b");
    assert_eq!(attempt(&service, "lock --all a,b --try"), Some(120));
    assert_eq!(attempt(&service, "lock --try a"), Some(0), "it was released");
    let both = waiting(&service, "lock --all b,a", 0);
    assert_eq!(attempt(&service, "lock --try a"), Some(120), "the first one is held meanwhile");
    holder.end();
    acquires(both);
    assert_eq!(service.leases(), 0);
}

/// Another client deletes the key of the first lock while the command waits for the second one.
#[test]
fn command_is_not_started_if_an_earlier_lock_was_lost_meanwhile() {
    let service = Service::start();
    let holder = Holder::start(&service, "lock b");
    let both = waiting(&service, "lock --all a,b", 0);
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
    let other = Holder::start(&service, "lock a");
    holder.end();
    let both = both.wait_with_output();
    let message = String::from_utf8_lossy(&both.stderr).into_owned();
    assert_eq!((both.status.code(), &both.stdout[..]), (Some(120), &b""[..]), "{message}");
    assert!(message.contains("`a,b` was not acquired: its key was deleted;"), "{message}");
    other.end();
    assert_eq!(service.leases(), 0);
}

/// Runs ten commands that acquire two locks with `--all`. Half of the commands name the locks in
/// the opposite order. All commands must end, so no deadlock occurs.
#[test]
fn opposite_orders_of_several_locks_do_not_deadlock() {
    let service = Service::start();
    let children: Vec<Killed> = (0..10)
        .map(|number| {
            let names = if number % 2 == 0 { "a,b" } else { "b,a" };
            let options = format!("lock --ttl 60s --all {names}");
            service.wrapper(&options, "true").spawn().expect("it starts").into()
        })
        .collect();
    for child in children {
        assert_eq!(ended(child), (0, String::new()));
    }
}

#[test]
fn clients_of_etcd_and_shared_holders_exclude_each_other() {
    let service = Service::start();
    let etcdctl = |path: &Path| {
        let mut client = Command::new("etcdctl");
        client.env("ETCDCTL_API", "3").args(["--endpoints", &service.member.address]);
        client.args(["lock", "a", "--", "sh", "-c", &script(path)]);
        client.stdout(Stdio::piped()).stderr(Stdio::null());
        client.spawn()
    };
    let file = NamedTempFile::new().expect("a file");
    let Ok(mut theirs) = etcdctl(file.path()) else {
        report_skip("etcdctl");
        return;
    };
    assert_eq!(lines(&mut theirs).next().expect("a line").expect("text"), "in");
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(120), "it waits for etcdctl");
    assert_eq!(attempt(&service, "lock --slots 3 --try a"), Some(120));
    let reader = waiting(&service, "lock --shared a", 1);
    drop(file);
    theirs.wait().expect("an end");
    acquires(reader);

    let reader = Holder::start(&service, "lock --shared a");
    let file = NamedTempFile::new().expect("a file");
    let before = service.asking_for_a();
    let mut theirs = etcdctl(file.path()).expect("it starts");
    until(|| service.asking_for_a() == before + 1);
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(120), "etcdctl is first");
    let queue =
        crate::shell::data(&format!("locks queue a --endpoints {}", service.member.address), 0);
    let inside: Vec<_> = queue["queue"].as_array().expect("claims").iter().collect();
    assert_eq!((&inside[0]["inside"], &inside[1]["inside"]), (&true.into(), &false.into()));
    reader.end();
    assert_eq!(lines(&mut theirs).next().expect("a line").expect("text"), "in");
    drop(file);
    theirs.wait().expect("an end");
}

/// While a command holds the lock with shared access, a `Lock` call of etcd's protocol waits. After
/// the command has ended, the call acquires the lock.
#[test]
fn lock_calls_wait_for_shared_holders() {
    let service = Service::start();
    let reader = Holder::start(&service, "lock --shared a");
    let call = std::thread::scope(|scope| {
        let call = scope.spawn(|| service.post("/v3/lock/lock", r#"{"name":"YQ=="}"#));
        until(|| service.asking_for_a() == 2);
        assert!(!call.is_finished());
        reader.end();
        call.join().expect("no panic")
    });
    assert!(call.contains(" 200 "), "{call}");
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(120));
}

#[test]
fn invalid_combinations_of_modes_are_rejected() {
    for (line, message) in [
        ("lock -- true", "<NAME>"),
        ("lock --slots 0 a -- true", "--slots"),
        ("lock --slots 2 --shared a -- true", "cannot be used with"),
        ("lock --all a,b --shared -- true", "cannot be used with"),
        ("lock --all a,b c -- true", "cannot be used with"),
        ("lock --all a,,b -- true", "a value is required"),
    ] {
        crate::shell::assert_fails_with(&crate::shell::tenure(line), 2, message);
    }
}

/// Control experiment for the tests in which `--try` must fail. While one client shares a lock,
/// `--try` succeeds for a different lock. It also succeeds for the shared lock, with `--shared`.
#[test]
fn holders_with_other_names_do_not_exclude_each_other() {
    let service = Service::start();
    let holder = Holder::start(&service, "lock --shared a");
    assert_eq!(attempt(&service, "lock --try b"), Some(0));
    assert_eq!(attempt(&service, "lock --shared --try a"), Some(0));
    holder.end();
    assert_eq!(service.leases(), 0);
}
