//! `cargo xtask attack`: runs the tests that attack real processes, each for a range of seeds.

use std::path::Path;
use std::process::ExitCode;

use crate::program::cargo;

/// A kind of attack on Tenure, with the tests that perform it. `package` and `program` name the
/// test program, and `tests` is the filter that selects its tests. `seeds` is the number of seeds
/// of a long run.
struct Kind {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    tests: &'static str,
    seeds: u64,
}

const KINDS: [Kind; 12] = [
    Kind::of("files", ["tenure", "attack", "files::"], 2_000),
    Kind::of("faults", ["tenure", "attack", "faults::"], 6 * 22 * 10),
    Kind::of("services", ["tenure", "attack", "services::"], 100),
    // With each seed, these tests suspend a process thirty times.
    Kind::of("pauses", ["tenure", "attack", "pauses::"], 34),
    Kind::of("lasting", ["tenure", "attack", "lasting::"], 2),
    Kind::of("bytes", ["tenure-runtime", "runtime", "bytes::"], 20_000),
    Kind::of("messages", ["tenure-runtime", "runtime", "invalid_messages::"], 200),
    // These tests ignore the seeds.
    Kind::of("floods", ["tenure", "cluster", "floods::"], 1),
    Kind::of("cuts", ["tenure", "cluster", "cuts::"], 1),
    Kind::of("offices", ["tenure", "cluster", "isolated_leaders::"], 1),
    Kind::of("holders", ["tenure", "cluster", "holders::"], 1),
    Kind::of("disks", ["tenure", "cluster", "disk::"], 1),
];

impl Kind {
    const fn of(name: &'static str, at: [&'static str; 3], seeds: u64) -> Self {
        let [package, program, tests] = at;
        Kind { name, package, program, tests, seeds }
    }

    /// Runs the tests of this kind with the given range of seeds. Returns true if they pass.
    fn attack(&self, root: &Path, seeds: &str, seconds: Option<&str>) -> bool {
        let mut command = cargo(root);
        command.env("TENURE_SEEDS", seeds);
        if let Some(seconds) = seconds {
            command.env("TENURE_SECONDS", seconds);
        }
        command.args(["test", "--quiet", "--locked", "-p", self.package, "--test", self.program]);
        command.args(["--", self.tests, "--nocapture", "--include-ignored"]);
        println!("== {}: seeds {seeds}", self.name);
        command.status().is_ok_and(|status| status.success())
    }
}

/// Runs attacks. The arguments are `[KIND] [--seeds A..B] [--seconds N]`. Without a kind, all kinds
/// run.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let (mut kind, mut seeds, mut seconds) = (None, None, None);
    let mut arguments = arguments.iter().copied();
    while let Some(argument) = arguments.next() {
        match argument {
            "--seeds" => seeds = arguments.next(),
            "--seconds" => seconds = arguments.next(),
            name if kind.is_none() && KINDS.iter().any(|kind| kind.name == name) => {
                kind = Some(name);
            }
            argument => {
                let names = KINDS.map(|kind| kind.name).join(", ");
                eprintln!("unknown argument `{argument}`: expected {names}, --seeds or --seconds");
                return ExitCode::from(2);
            }
        }
    }
    let mut all_passed = true;
    for kind in KINDS.iter().filter(|it| kind.is_none_or(|name| name == it.name)) {
        let all = format!("0..{}", kind.seeds);
        all_passed &= kind.attack(root, seeds.unwrap_or(&all), seconds);
    }
    if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
