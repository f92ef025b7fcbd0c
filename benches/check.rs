//! Speed and memory of the checker: `cargo bench -p tenure-check`. With an argument after `--`, the
//! benchmark runs and prints only the lines whose names contain the argument.
//!
//! The model is Ricart–Agrawala as in textbooks, so that the figures can be compared with those of
//! other model checkers. `benches/peers/check` runs other model checkers on the same model.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../crates/check/tests/check/textbook.rs"]
#[allow(dead_code, reason = "the benchmark uses the correct protocol only")]
mod textbook;

use tenure_check::{Check, CheckReport, RequestLimit};
use tenure_core::monitors::MutualExclusion;
use textbook::Textbook;

fn main() {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{:<32}{:>8}{:>11}{:>13}{:>8}{:>8}{:>14}{:>9}{:>9}",
        "Ricart–Agrawala, textbook",
        "threads",
        "states",
        "transitions",
        "s",
        "CPU s",
        "states/CPU s",
        "B/state",
        "peak MB"
    );
    for threads in [1, all] {
        let safe = |check: Check<Textbook>| check.always(MutualExclusion::new()).threads(threads);
        line("n=3, 3 entries, fifo", threads, || safe(Check::new(3).request_limits(3).fifo()));
        line("n=4, 1 entry, fifo", threads, || safe(Check::new(4).fifo()));
        line("n=4, 1 entry, fifo, exact", threads, || {
            safe(Check::new(4).fifo()).configure(|config| config.search.stores_whole_states = true)
        });
        line("n=4, 1 entry, fifo, starvation-freedom", threads, || {
            safe(Check::new(4).fifo()).check_starvation_freedom()
        });
        line("n=4, 1 entry, reordered", threads, || safe(Check::new(4)));
        let endless = || {
            safe(
                Check::new(4)
                    .request_limits(RequestLimit::Unbounded)
                    .fifo()
                    .reducing_by_timestamp_shifts(),
            )
        };
        line("n=4, endless, fifo, starvation-freedom", threads, || {
            endless().check_starvation_freedom()
        });
    }
}

fn line(name: &str, threads: usize, check: impl FnOnce() -> Check<Textbook>) {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    if wanted.is_some_and(|wanted| !format!("{name}, {threads} threads").contains(&*wanted)) {
        return;
    }
    let before = cpu_seconds();
    let report: CheckReport = check().run();
    assert!(report.holds(), "{report}");
    let cpu = (cpu_seconds() - before).max(0.01);
    println!(
        "{name:<32}{threads:>8}{:>11}{:>13}{:>8.2}{cpu:>8.2}{:>14.0}{:>9.0}{:>9.0}",
        report.states,
        report.transitions,
        report.seconds,
        report.states as f64 / cpu,
        report.bytes_per_state(),
        peak_megabytes()
    );
}

/// Returns the CPU time of all threads, in steps of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns the peak memory of the process in MB; 0 if the system does not report it.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
