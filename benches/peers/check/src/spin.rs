//! Spin: generates, compiles and runs the verifier of a Promela model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::compared_protocol::Scope;
use crate::measure::{self, Failure, Finished};

/// Search mode of Spin. All modes are compiled with `-DSAFETY -O2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Full,
    /// Partial-order reduction, the default of Spin.
    Reduced,
    /// Bitstate hashing without the reduction: one bit for each of three hashes of a state
    /// (`-DBITSTATE`).
    Bitstate,
}

pub(crate) struct Verified {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) holds: bool,
    /// Memory without the stack of the search, in bytes.
    pub(crate) memory: f64,
    /// CPU seconds of generating and compiling the verifier.
    pub(crate) build_seconds: f64,
    pub(crate) run: Finished,
}

impl Search {
    const fn defines(self) -> &'static [&'static str] {
        match self {
            Search::Full => &["-DNOREDUCE"],
            Search::Reduced => &[],
            Search::Bitstate => &["-DNOREDUCE", "-DBITSTATE"],
        }
    }

    /// Returns the option for the size of the hash table: the binary logarithm of its slots, or of
    /// its bits for [`Search::Bitstate`].
    const fn table(self) -> &'static str {
        match self {
            // The verifier enlarges the table as necessary.
            Search::Full | Search::Reduced => "-w16",
            Search::Bitstate => "-w30",
        }
    }
}

/// Verifies a model in the folder `promela` with Spin. The macro `N` is the number of processes,
/// and `E` is the number of times that each process acts. In the control experiment, the macro
/// `MISTAKE` is defined as well.
pub(crate) fn verify(
    model: &str,
    scope: Scope,
    search: Search,
    timeout: Duration,
) -> Result<Verified, Failure> {
    let folder = work_folder().map_err(|error| Failure::Failed(error.to_string()))?;
    let result = verify_in(&folder, model, scope, search, timeout);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn work_folder() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("tenure-peers-check-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn verify_in(
    folder: &Path,
    model: &str,
    Scope { size, times, is_mistaken }: Scope,
    search: Search,
    timeout: Duration,
) -> Result<Verified, Failure> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("promela").join(model);
    let mut spin = Command::new("spin");
    spin.args([format!("-DN={size}"), format!("-DE={times}")]);
    if is_mistaken {
        spin.arg("-DMISTAKE");
    }
    spin.arg("-a").arg(source);
    let generated = measure::run(spin.current_dir(folder), timeout)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-w", "-DSAFETY", "-DMEMLIM=16384"]).args(search.defines());
    compiler.args(["-o", "pan", "pan.c"]);
    let compiled = measure::run(compiler.current_dir(folder), timeout)?;
    let mut verifier = Command::new(folder.join("pan"));
    verifier.arg(search.table()).arg("-m100000");
    let run = measure::run(verifier.current_dir(folder), timeout)?;
    let figure = |label: &str| figure(&run.output, label);
    let (states, transitions, errors, total) = (
        figure("states, stored"),
        figure("transitions (="),
        run.output.split("errors: ").nth(1).and_then(first_number),
        figure("total actual memory usage"),
    );
    let (Some(states), Some(transitions), Some(errors), Some(total)) =
        (states, transitions, errors, total)
    else {
        return Err(Failure::Failed("the verifier printed no result".into()));
    };
    if run.output.contains("max search depth too small") {
        return Err(Failure::Failed("the stack of the search is too small".into()));
    }
    Ok(Verified {
        states: states as u64,
        transitions: transitions as u64,
        holds: errors == 0.0,
        memory: (total - figure("memory used for DFS stack").unwrap_or(0.0)) * 1024.0 * 1024.0,
        build_seconds: generated.cpu_seconds + compiled.cpu_seconds,
        run,
    })
}

fn figure(output: &str, label: &str) -> Option<f64> {
    output.lines().find(|line| line.contains(label)).and_then(first_number)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}
