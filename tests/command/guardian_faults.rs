//! Kills and stops `tenure lock`, its guardian and its command at random. The resource is a file to
//! which every process of a command appends its fencing token. The resource does not compare
//! tokens.
//!
//! If a token follows a higher one in the file, a process has written after the lock was passed on.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::guardian::{children, kill_marked, marked};
use crate::hold::{LONG, Service, signal};
use crate::killed::Killed;

/// Number of locks that are tested at the same time, each with its own file.
const LOCKS: u64 = 5;

/// Shell command that appends the fencing token to the file again and again.
const WRITE: &str = "while :; do echo $TENURE_FENCE >>$RESOURCE; sleep 0.02; done";

/// Scripts that write to the file that a lock protects. Each script starts the writing process in a
/// different way. The first text is the name of this way, and the second is the script.
const SHAPES: [(&str, &str); 8] = [
    ("pipeline", "sh -c \"$WRITE\" | sh -c \"$WRITE\"; echo done"),
    ("timeout", "timeout 600 sh -c \"$WRITE\"; echo done"),
    ("su", "su nobody -s /bin/sh -c \"$WRITE\"; echo done"),
    ("setsid", "setsid sh -c \"$WRITE\" & wait"),
    ("daemonised", "(setsid sh -c \"$WRITE\" >/dev/null 2>&1 &); sleep 600; echo done"),
    ("nohup", "nohup sh -c \"$WRITE\" >/dev/null 2>&1 & wait"),
    ("ignores TERM", "trap '' TERM HUP INT; sh -c \"$WRITE\"; sh -c \"$WRITE\""),
    (
        "forks for ever",
        "next() { echo $TENURE_FENCE >>$RESOURCE; sleep 0.02; next & }; next & sleep 600; true",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Wrapper,
    Guardian,
    Command,
}

/// A lock and the file that it protects. Several holders acquire the lock one after another.
struct Chain<'a> {
    service: &'a Service,
    name: String,
    resource: PathBuf,
    mark: String,
}

struct Holder {
    wrapper: Killed,
    shape: usize,
}

impl Drop for Chain<'_> {
    /// Kills the processes that a fault has left.
    fn drop(&mut self) {
        kill_marked(&self.mark);
    }
}

impl Chain<'_> {
    fn start(&self, shape: usize) -> Holder {
        let options = format!("lock --ttl 10s --grace 400ms {}", self.name);
        let wrapper = self
            .service
            .wrapper(&options, SHAPES[shape].1)
            .env("RESOURCE", &self.resource)
            .env("WRITE", WRITE)
            .stdout(Stdio::null())
            .spawn()
            .expect("the command starts");
        Holder { wrapper: Killed(wrapper), shape }
    }

    fn written(&self) -> Vec<u64> {
        let text = fs::read_to_string(&self.resource).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| line.trim().parse().expect("a token")).collect()
    }

    /// Waits until a process has written a fencing token greater than `token`. Returns that token.
    fn entered_after(&self, token: u64) -> Result<u64, String> {
        let started = Instant::now();
        loop {
            match self.written().last() {
                Some(&last) if last > token => return Ok(last),
                _ if started.elapsed() > LONG => return Err(format!("nothing follows {token}")),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Returns the IDs of the running processes that belong to the command with the fencing token
    /// `token`.
    fn left_of(&self, token: u64) -> Vec<String> {
        let mut left = marked(&format!("TENURE_FENCE={token}"));
        let of_this = marked(&self.mark);
        left.retain(|id| of_this.contains(id));
        left
    }
}

/// Returns the tokens that follow a higher token in the list.
fn violations(written: &[u64]) -> Vec<u64> {
    let mut highest = 0;
    let mut late = Vec::new();
    for &token in written {
        if token < highest {
            late.push(token);
        }
        highest = highest.max(token);
    }
    late
}

#[derive(Debug, Default)]
struct Figures {
    faults: AtomicU32,
    writes: AtomicU32,
}

/// Injects `rounds` faults at each of several locks. Returns the figures and descriptions of the
/// failures.
fn run(seed: u64, rounds: usize) -> (Figures, Vec<String>) {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    // Some of the processes that write to the folder run as another user.
    open_to_all(folder.path());
    let figures = Figures::default();
    let failures = std::thread::scope(|scope| {
        let chains = (0..LOCKS).map(|index| {
            let (service, folder, figures) = (&service, folder.path(), &figures);
            scope.spawn(move || {
                let resource = folder.join(format!("resource-{index}"));
                fs::write(&resource, "").expect("a file");
                open_to_all(&resource);
                let mark = format!("RESOURCE={}", resource.display());
                let name = format!("lock-{index}");
                let chain = Chain { service, name, resource, mark };
                let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(LOCKS) + index);
                chain.run(&mut random, rounds, figures)
            })
        });
        let chains: Vec<_> = chains.collect();
        chains.into_iter().flat_map(|it| it.join().expect("an end")).collect()
    });
    (figures, failures)
}

fn open_to_all(path: &Path) {
    let done = Command::new("chmod").arg("a+rwx").arg(path).status();
    assert!(done.expect("chmod").success());
}

impl Chain<'_> {
    fn run(&self, random: &mut fastrand::Rng, rounds: usize, figures: &Figures) -> Vec<String> {
        let mut failures = Vec::new();
        let mut shape = random.usize(..SHAPES.len());
        let mut shapes = || {
            shape = (shape + 1) % SHAPES.len();
            match SHAPES[shape].0 {
                "su" if !rustix::process::geteuid().is_root() => 0,
                _ => shape,
            }
        };
        let mut holder = self.start(shapes());
        let mut token = 0;
        for round in 0..rounds {
            token = match self.entered_after(token) {
                Ok(token) => token,
                Err(why) => {
                    failures.push(format!("{} round {round}: {why}", self.name));
                    break;
                }
            };
            let next = self.start(shapes());
            std::thread::sleep(Duration::from_millis(random.u64(..400)));
            let victim =
                random.choice([Victim::Wrapper, Victim::Guardian, Victim::Command]).expect("one");
            let action = random.choice(["-KILL", "-STOP"]).expect("one");
            let mut story = String::new();
            let _ = write!(
                story,
                "{} round {round}, {}, token {token}: {victim:?} {action}",
                self.name, SHAPES[holder.shape].0
            );
            figures.faults.fetch_add(1, Ordering::Relaxed);
            if let Err(why) = self.inject(holder, victim, action, token) {
                failures.push(format!("{story}: {why}"));
            }
            holder = next;
        }
        drop(holder);
        let written = self.written();
        figures.writes.fetch_add(u32::try_from(written.len()).expect("few"), Ordering::Relaxed);
        let late = violations(&written);
        if !late.is_empty() {
            failures.push(format!("{}: writes under an expired lock: {late:?}", self.name));
        }
        failures
    }

    fn inject(
        &self,
        mut holder: Holder,
        victim: Victim,
        action: &str,
        token: u64,
    ) -> Result<(), String> {
        let wrapper = holder.wrapper.id().to_string();
        let guardian = children(&wrapper).pop().ok_or("there is no guardian")?;
        let command = children(&guardian).into_iter().next().ok_or("there is no command")?;
        let target = match victim {
            Victim::Wrapper => &wrapper,
            Victim::Guardian => &guardian,
            Victim::Command => &command,
        };
        signal(action, target);
        // If the guardian or the command is stopped, the wrapper still holds the lock. The wrapper
        // is then killed.
        if action == "-STOP" && victim != Victim::Wrapper {
            std::thread::sleep(Duration::from_millis(300));
            if self.written().last() != Some(&token) {
                return Err("it lost the lock".to_owned());
            }
            signal("-KILL", &wrapper);
        }
        let next = self.entered_after(token)?;
        let mut left = self.left_of(token);
        left.retain(|id| *id != wrapper);
        if !left.is_empty() {
            return Err(format!("{} processes are left when {next} enters", left.len()));
        }
        signal("-CONT", &wrapper);
        holder.wrapper.wait().map_err(|error| error.to_string())?;
        Ok(())
    }
}

#[test]
fn no_write_under_an_expired_lock_after_random_faults() {
    let (figures, failures) = run(1, 4);
    assert_eq!(failures, [""; 0], "{figures:?}");
}

/// Injects two hundred random faults. Asserts that no process writes after its lock was passed on.
/// For another seed, run
/// `FAULT_SEED=2 cargo test -p tenure --test command -- --ignored guardian_faults:: --nocapture`.
#[test]
#[ignore = "some minutes: two hundred faults, by the seed in FAULT_SEED"]
fn two_hundred_random_faults_cause_no_late_writes() {
    let seed = std::env::var("FAULT_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let (figures, failures) = run(seed, 40);
    eprintln!("seed {seed}: {figures:?}");
    assert_eq!(failures, [""; 0], "{figures:?}");
}

/// Control experiment: if the wrapper and the guardian are killed together, the command continues
/// to write after the lock was passed on, and the test detects this. `--help` documents this case.
#[test]
fn resource_sees_writes_of_a_tree_that_nothing_guards() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let resource = folder.path().join("resource");
    let mark = format!("RESOURCE={}", resource.display());
    let chain = Chain { service: &service, name: "a".to_owned(), resource, mark };
    let holder = chain.start(3);
    let first = chain.entered_after(0).expect("it enters");
    let wrapper = holder.wrapper.id().to_string();
    let guardian = children(&wrapper).pop().expect("a guardian");
    let next = chain.start(0);
    for (name, id) in
        [("-STOP", &wrapper), ("-STOP", &guardian), ("-KILL", &guardian), ("-KILL", &wrapper)]
    {
        assert!(signal(name, id));
    }
    let second = chain.entered_after(first).expect("the next enters");
    let started = Instant::now();
    while violations(&chain.written()).is_empty() && started.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!violations(&chain.written()).is_empty(), "{first} writes beside {second}");
    drop((holder, next));
}
