//! The options of `tenure simulate`, most of which `tenure compare` has too.

use std::path::PathBuf;

use clap::Args;
use tenure_core::{ProcessId, Property, TICKS_PER_UNIT};
use tenure_sim::{
    Chance, Fault, Latency, Memory, Recovery, SettingsError, Span, Steer, parse_units,
};

use super::plan::judged;
use crate::cmd::failure::Failure;
use crate::cmd::group::{GroupOptions, process, processes, threads};
use crate::cmd::output::Format;
use crate::cmd::property::one_of;

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
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = one_of(judged()))]
    pub(super) property: Vec<Property>,
    /// Do something in the run that would not happen by itself, after so many of its steps:
    /// '12 lose p2→p1 request'; also deliver (now), duplicate, delay p2→p1 by 2.5, crash p3,
    /// recover p3, fire p1 TIMER, enter p1, exit p1, elect p1, suspect p1 p2, trust p1 p2; -> is →;
    /// repeatable, in the order of the steps. `tenure lab` prints such commands
    #[arg(long, value_name = "STEP ACTION")]
    pub(super) steer: Vec<Steer>,
    /// Stop after so many steps, what --steer does not counted
    #[arg(long, value_name = "N")]
    pub(super) steps: Option<u64>,
    /// Write all that happened in the first run, as NDJSON
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// In the trace, what each process holds after every step that changed it
    #[arg(long, requires = "trace")]
    pub(super) states: bool,
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
    /// Instead of closed loops: requests arrive at each process this far apart, served or not
    #[arg(long, value_name = "D", value_parser = span)]
    #[arg(conflicts_with_all = ["sequential", "think"])]
    pub(crate) arrivals: Option<Span>,
    /// One process enters more often than --entries says: 3 (ten times) or 3:50
    #[arg(long, value_name = "P[:K]", value_parser = hot, conflicts_with = "sequential")]
    pub(crate) hot: Option<Hot>,
    /// How likely a user who asks to enter tells another, who then asks at once, 0 to 1
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) app_messages: Chance,
    /// The time between an exit and the next request of a process
    #[arg(long, value_name = "D", value_parser = span, default_value = "0")]
    pub(crate) think: Span,
    /// The time inside the critical section
    #[arg(long, value_name = "D", value_parser = span, default_value = "1")]
    pub(crate) hold: Span,
    /// How long a message takes
    #[arg(long, value_name = "D", value_parser = span, default_value = "1")]
    pub(crate) latency: Span,
    /// How long a message takes from one process to another: 1-2=5..9; repeatable
    #[arg(long, value_name = "P-P=D", value_parser = link)]
    pub(crate) link_latency: Vec<Link>,
    /// How likely a message is lost, 0 to 1
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) lose: Chance,
    /// How likely a message arrives twice, 0 to 1
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) duplicate: Chance,
    /// Crash a process at a time, 3@10; on its n-th message, 3@message:4; in its n-th entry,
    /// 3@inside:2, or a while after, 3@inside:2+0.5; in its n-th wait, 3@waiting:1; repeatable
    #[arg(long, value_name = "P@WHEN", value_parser = crash)]
    pub(crate) crash: Vec<Fault>,
    /// Bring a crashed process back at a time, 3@50, or so long after each of its crashes, 3@+5;
    /// with what it had saved, or without, 3@50:forgetful; repeatable
    #[arg(long, value_name = "P@T[:forgetful]", value_parser = recovery)]
    pub(crate) recover: Vec<Comeback>,
    /// Cut processes off from all others for a while, 1,2@10..50, or for ever, 1,2@10..;
    /// repeatable
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
    #[arg(long, value_name = "T", value_parser = threads)]
    #[arg(default_value_t = 0, hide_default_value = true)]
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

    /// All that goes wrong, in the order of the options.
    pub(crate) fn faults(&self) -> Result<Vec<Fault>, Failure> {
        let mut faults = self.crash.clone();
        for comeback in &self.recover {
            match comeback {
                Comeback::At(fault) => faults.push(fault.clone()),
                Comeback::After { process, recovery } => after(*process, *recovery, &mut faults)?,
            }
        }
        faults.extend(self.partition.iter().cloned());
        Ok(faults)
    }

    /// How long messages take in a group of `size`.
    pub(crate) fn latency(&self, size: u32) -> Result<Latency, Failure> {
        if self.link_latency.is_empty() {
            return Ok(self.latency.into());
        }
        if size > MOST_LINKED {
            let says = format!("--link-latency is for groups of up to {MOST_LINKED}, not {size}");
            return Err(Failure::usage(says));
        }
        let mut spans = vec![self.latency; (size * size) as usize];
        for link in &self.link_latency {
            if let Some(stranger) = [link.from, link.to].iter().find(|process| process.0 >= size) {
                let says =
                    format!("--link-latency names {stranger}, but the group is P1 to P{size}");
                return Err(Failure::usage(says));
            }
            spans[(link.from.0 * size + link.to.0) as usize] = link.latency;
        }
        Ok(Latency::Links(spans.into()))
    }
}

/// A latency for each link takes memory for each pair of processes.
const MOST_LINKED: u32 = 1000;

/// How a crashed process comes back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Comeback {
    /// At a time.
    At(Fault),
    /// A while after each of its crashes.
    After {
        /// Who.
        process: ProcessId,
        /// How long after, and with what it remembers.
        recovery: Recovery,
    },
}

/// Lets a process come back after each of its crashes.
fn after(process: ProcessId, recovery: Recovery, faults: &mut [Fault]) -> Result<(), Failure> {
    let mut crashes = 0;
    for fault in faults {
        if let Fault::Crash { process: whose, recovery: comeback, .. } = fault
            && *whose == process
        {
            *comeback = Some(recovery);
            crashes += 1;
        }
    }
    if crashes == 0 {
        let number = process.number();
        let says = format!(
            "--recover {number}@+… follows a crash, but no --crash names {process}; \
             add one or give a time, such as {number}@50"
        );
        return Err(Failure::usage(says));
    }
    Ok(())
}

/// One process that enters more often than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hot {
    /// Who.
    pub(crate) process: ProcessId,
    /// How often.
    pub(crate) entries: u32,
}

/// How long messages take from one process to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Link {
    /// Who sends them.
    pub(crate) from: ProcessId,
    /// Who gets them.
    pub(crate) to: ProcessId,
    /// How long they take.
    pub(crate) latency: Span,
}

fn hot(text: &str) -> Result<Hot, String> {
    let (who, often) = text.split_once(':').unwrap_or((text, "10"));
    let wrong = || format!("`{often}` is no number of entries; write 3 or 3:50");
    Ok(Hot { process: process(who)?, entries: often.parse().map_err(|_| wrong())? })
}

fn link(text: &str) -> Result<Link, String> {
    let wrong = || format!("`{text}` is no link and its latency; write 1-2=5..9");
    let (link, latency) = text.split_once('=').ok_or_else(wrong)?;
    let (from, to) = link.split_once('-').ok_or_else(wrong)?;
    let (from, to) = (process(from)?, process(to)?);
    if from == to {
        return Err(format!("`{link}` is no link: a process reaches itself at once"));
    }
    Ok(Link { from, to, latency: span(latency)? })
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

fn process_at(text: &str) -> Result<(ProcessId, &str), String> {
    let wrong = || format!("`{text}` says nobody and no time; write a process and when: 3@10");
    let (who, when) = text.split_once('@').ok_or_else(wrong)?;
    Ok((process(who)?, when))
}

fn crash(text: &str) -> Result<Fault, String> {
    let (process, when) = process_at(text)?;
    let when = when.parse().map_err(|error: SettingsError| error.to_string())?;
    Ok(Fault::Crash { process, when, recovery: None })
}

fn recovery(text: &str) -> Result<Comeback, String> {
    let (process, when) = process_at(text)?;
    let (when, memory) = match when.split_once(':') {
        None => (when, Memory::Stable),
        Some((when, "forgetful")) => (when, Memory::Lost),
        Some((_, word)) => {
            return Err(format!("`{word}` is no way to come back; write 3@50 or 3@50:forgetful"));
        }
    };
    Ok(match when.strip_prefix('+') {
        Some(after) => {
            let recovery = Recovery { after: moment(after)?, memory };
            Comeback::After { process, recovery }
        }
        None => Comeback::At(Fault::Recover { process, at: moment(when)?, memory }),
    })
}

fn partition(text: &str) -> Result<Fault, String> {
    let wrong = || format!("`{text}` is no partition; write a side and its time: 1,2@10..50");
    let (side, span) = text.split_once('@').ok_or_else(wrong)?;
    let (from, until) = span.split_once("..").ok_or_else(wrong)?;
    let from = moment(from)?;
    let until = if until.is_empty() { None } else { Some(moment(until)?) };
    if until.is_some_and(|until| until < from) {
        return Err(format!("`{text}` ends before it begins; swap the two times"));
    }
    Ok(Fault::Partition { side: processes(side)?.0, from, until })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_sim::When;

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
        let for_ever = partition("1@10..").unwrap();
        assert!(matches!(for_ever, Fault::Partition { until: None, .. }), "{for_ever:?}");
        for text in ["3@inside", "3@waiting:2+1", "3@message:4"] {
            assert!(crash(text).is_ok(), "{text}");
        }
        let back = Recovery { after: at / 2, memory: Memory::Lost };
        assert_eq!(
            recovery("3@+5:forgetful"),
            Ok(Comeback::After { process: ProcessId(2), recovery: back })
        );
        for text in ["3@5:new", "3@+", "3@inside", "@+1", "3@+5:"] {
            assert!(recovery(text).is_err(), "{text}");
        }
        for text in ["1,2", "1,2@10", "1,2@50..10", "@1..2", "1,@1..2"] {
            assert!(partition(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hot_processes_and_links_are_read_as_they_are_written() {
        assert_eq!(hot("3"), Ok(Hot { process: ProcessId(2), entries: 10 }));
        assert_eq!(hot("3:50"), Ok(Hot { process: ProcessId(2), entries: 50 }));
        assert!(["0", "3:", "3:x", "x:3"].into_iter().all(|text| hot(text).is_err()));
        let latency = Span::between_units(5, 9);
        let expected = Link { from: ProcessId(0), to: ProcessId(1), latency };
        assert_eq!(link("1-2=5..9"), Ok(expected));
        assert!(["1-2", "1=5", "1-1=5", "0-1=5", "1-2="].into_iter().all(|it| link(it).is_err()));
    }

    #[test]
    fn rates_are_between_nothing_and_everything() {
        assert_eq!(drift("0.01"), Ok(10_000));
        assert!(["1", "-0.1", "NaN", "x"].into_iter().all(|text| drift(text).is_err()));
        assert_eq!(chance("1"), Ok(Chance::of(1.0)));
        assert!(["1.5", "-0.1", "NaN", "x"].into_iter().all(|text| chance(text).is_err()));
    }
}
