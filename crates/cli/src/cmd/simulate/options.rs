//! The options of `tenure simulate`, most of which `tenure compare` has too.

use std::path::PathBuf;

use clap::Args;
use tenure_core::{ProcessId, TICKS_PER_UNIT};
use tenure_sim::{Chance, Fault, Memory, Span, When, parse_units};

use crate::cmd::failure::Failure;
use crate::cmd::group::{GroupOptions, process, processes};
use crate::cmd::output::Format;

/// Run an algorithm in virtual time, once or with many seeds: metrics and verdicts
///
/// Times are in virtual units, a message taking one unless --latency says otherwise. Durations are
/// written 1.5 (always), 1..3 (uniform), exp:2 (exponential with that mean) or lognormal:1,0.5
/// (median, deviation of the logarithm). The same seed and options give the same run on every
/// machine. Exit status 1: a property was violated that the card promises or --property names.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Which algorithm; `tenure list` shows them
    pub(super) algorithm: String,
    #[command(flatten)]
    pub(super) run: RunOptions,
    /// Properties whose violation is a failure, besides those that the card promises
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) property: Vec<String>,
    /// Write all that happened in the first run, as NDJSON
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

/// What decides a run, besides the algorithm.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) group: GroupOptions,
    /// Instead of --entries: M entries by processes drawn uniformly, one request at a time
    #[arg(long, value_name = "M", conflicts_with = "entries")]
    pub(crate) sequential: Option<u64>,
    /// The time between an exit and the next request of a process
    #[arg(long, value_name = "D", value_parser = span, default_value = "0")]
    pub(crate) think: Span,
    /// The time inside the critical section
    #[arg(long, value_name = "D", value_parser = span, default_value = "1")]
    pub(crate) hold: Span,
    /// How long a message takes
    #[arg(long, value_name = "D", value_parser = span, default_value = "1")]
    pub(crate) latency: Span,
    /// How likely a message is lost, 0 to 1
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) lose: Chance,
    /// How likely a message arrives twice, 0 to 1
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) duplicate: Chance,
    /// Crash a process at a time: 3@10; repeatable
    #[arg(long, value_name = "P@T", value_parser = crash)]
    pub(crate) crash: Vec<Fault>,
    /// Bring a crashed process back, with what it had saved: 3@50; repeatable
    #[arg(long, value_name = "P@T", value_parser = recovery)]
    pub(crate) recover: Vec<Fault>,
    /// Cut processes off from all others for a while: 1,2@10..50; repeatable
    #[arg(long, value_name = "LIST@A..B", value_parser = partition)]
    pub(crate) partition: Vec<Fault>,
    /// How much faster or slower clocks may run: 0.01 is one in a hundred
    #[arg(long, value_name = "R", value_parser = drift, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) drift: u32,
    /// How long a process takes for a step
    #[arg(long, value_name = "D", value_parser = span, default_value = "0")]
    pub(crate) step: Span,
    /// With partial timing: when bounds begin to hold
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(crate) gst: Option<u64>,
    /// Run to exactly this time, even when all are served before
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(crate) until: Option<u64>,
    /// What every draw is made from; run k of many has the seed S + k − 1
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many runs
    #[arg(long, value_name = "K")]
    pub(crate) runs: Option<u64>,
    /// How many threads make the runs [default: all cores]
    #[arg(long, value_name = "T", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
}

impl RunOptions {
    /// How many runs there are; `otherwise` when nothing says so.
    pub(crate) fn runs(&self, otherwise: u64) -> Result<u64, Failure> {
        match self.runs {
            Some(0) => Err(Failure::usage("--runs 0 leaves nothing to do; give 1 or more")),
            runs => Ok(runs.unwrap_or(otherwise)),
        }
    }

    /// All that goes wrong at a time, in the order of the options.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        [&self.crash, &self.recover, &self.partition].into_iter().flatten().cloned().collect()
    }
}

fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error: tenure_sim::SettingsError| error.to_string())
}

fn moment(text: &str) -> Result<u64, String> {
    parse_units(text).map_err(|_| format!("`{text}` is no time; write units like 10 or 2.5"))
}

fn chance(text: &str) -> Result<Chance, String> {
    let wrong = || format!("`{text}` is no probability; write 0 to 1, such as 0.1");
    let probability: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..=1.0).contains(&probability) {
        return Err(wrong());
    }
    Ok(Chance::of(probability))
}

fn drift(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no drift; write 0 to below 1, such as 0.01");
    let rate: f64 = text.parse().map_err(|_| wrong())?;
    let millionths = (rate * TICKS_PER_UNIT as f64).round();
    if !(0.0..1e6).contains(&millionths) {
        return Err(wrong());
    }
    Ok(millionths as u32)
}

fn process_at(text: &str) -> Result<(ProcessId, u64), String> {
    let wrong = || format!("`{text}` says nobody and no time; write a process and when: 3@10");
    let (who, when) = text.split_once('@').ok_or_else(wrong)?;
    Ok((process(who)?, moment(when)?))
}

fn crash(text: &str) -> Result<Fault, String> {
    let (process, at) = process_at(text)?;
    Ok(Fault::Crash { process, when: When::At(at), recovery: None })
}

fn recovery(text: &str) -> Result<Fault, String> {
    let (process, at) = process_at(text)?;
    Ok(Fault::Recover { process, at, memory: Memory::Stable })
}

fn partition(text: &str) -> Result<Fault, String> {
    let wrong = || format!("`{text}` is no partition; write a side and its time: 1,2@10..50");
    let (side, span) = text.split_once('@').ok_or_else(wrong)?;
    let (from, until) = span.split_once("..").ok_or_else(wrong)?;
    let (from, until) = (moment(from)?, moment(until)?);
    if until < from {
        return Err(format!("`{text}` ends before it begins; swap the two times"));
    }
    Ok(Fault::Partition { side: processes(side)?.0, from, until: Some(until) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let process = ProcessId(2);
        let at = 10 * TICKS_PER_UNIT;
        let expected = Fault::Crash { process, when: When::At(at), recovery: None };
        assert_eq!(crash("3@10"), Ok(expected));
        let side = vec![ProcessId(0), ProcessId(1)];
        let expected = Fault::Partition { side, from: at, until: Some(5 * at) };
        assert_eq!(partition("1,2@10..50"), Ok(expected));
        for text in ["3", "0@1", "3@", "@5", "P3@5", "3@-1"] {
            assert!(crash(text).is_err(), "{text}");
        }
        for text in ["1,2", "1,2@10", "1,2@50..10", "@1..2", "1,@1..2"] {
            assert!(partition(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_between_nothing_and_everything() {
        assert_eq!(drift("0.01"), Ok(10_000));
        assert!(["1", "-0.1", "NaN", "x"].into_iter().all(|text| drift(text).is_err()));
        assert_eq!(chance("1"), Ok(Chance::of(1.0)));
        assert!(["1.5", "-0.1", "NaN", "x"].into_iter().all(|text| chance(text).is_err()));
    }
}
