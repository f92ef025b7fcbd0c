//! The rig at any length: the tests that hurt and lie to real processes, with the seeds that you
//! ask for.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// A kind of attack: its name, its package, its test program and which tests of that, and how many
/// seeds a long run takes.
struct Kind {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    tests: &'static str,
    seeds: u64,
}

const KINDS: [Kind; 12] = [
    Kind::of("files", ["tenure", "attack", "files::"], 2_000),
    Kind::of("faults", ["tenure", "attack", "faults::"], 6 * 15 * 10),
    Kind::of("logs", ["tenure", "attack", "logs::"], 200),
    Kind::of("services", ["tenure", "attack", "services::"], 100),
    Kind::of("lasting", ["tenure", "attack", "lasting::"], 2),
    Kind::of("bytes", ["tenure-runtime", "runtime", "bytes::"], 20_000),
    Kind::of("messages", ["tenure-runtime", "runtime", "absurd::"], 200),
    // These take no seeds.
    Kind::of("floods", ["tenure", "cluster", "floods::"], 1),
    Kind::of("cuts", ["tenure", "cluster", "cuts::"], 1),
    Kind::of("offices", ["tenure", "cluster", "office::"], 1),
    Kind::of("holders", ["tenure", "cluster", "holders::"], 1),
    Kind::of("disks", ["tenure", "cluster", "disk::"], 1),
];

impl Kind {
    const fn of(name: &'static str, at: [&'static str; 3], seeds: u64) -> Self {
        let [package, program, tests] = at;
        Kind { name, package, program, tests, seeds }
    }

    /// Runs the tests of this kind with these seeds.
    fn attack(&self, root: &Path, seeds: &str, seconds: Option<&str>) -> bool {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(root).stdin(Stdio::null()).env("TENURE_SEEDS", seeds);
        if let Some(seconds) = seconds {
            command.env("TENURE_SECONDS", seconds);
        }
        command.args(["test", "--quiet", "--locked", "-p", self.package, "--test", self.program]);
        command.args(["--", self.tests, "--nocapture", "--include-ignored"]);
        println!("== {}: seeds {seeds}", self.name);
        command.status().is_ok_and(|status| status.success())
    }
}

/// Attacks as the words say: `[KIND] [--seeds A..B] [--seconds N]`, all kinds where none is named.
pub(crate) fn main(root: &Path, words: &[&str]) -> ExitCode {
    let (mut kind, mut seeds, mut seconds) = (None, None, None);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "--seeds" => seeds = words.next(),
            "--seconds" => seconds = words.next(),
            name if kind.is_none() && KINDS.iter().any(|kind| kind.name == name) => {
                kind = Some(name);
            }
            word => {
                let names = KINDS.map(|kind| kind.name).join(", ");
                eprintln!("`{word}` means nothing here; there are {names}, --seeds and --seconds");
                return ExitCode::from(2);
            }
        }
    }
    let mut held = true;
    for kind in KINDS.iter().filter(|it| kind.is_none_or(|name| name == it.name)) {
        let all = format!("0..{}", kind.seeds);
        held &= kind.attack(root, seeds.unwrap_or(&all), seconds);
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
