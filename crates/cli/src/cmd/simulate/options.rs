//! The options of `tenure simulate`. `tenure compare` shares most of them.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;
use tenure_core::{Card, DetectorClass, Property, Service};
use tenure_sim::{
    Chance, CrashTrigger, Distribution, Fault, HotProcess, Intervention, Latency, LinkLatency,
    RecoveryOption, SettingsError, parse_bounded_time_units, parse_drift_to_ppm,
};

use super::plan::{has_hold_time, supported_properties};
use crate::cmd::custom_property::CustomPropertyOptions;
use crate::cmd::failure::Failure;
use crate::cmd::group::{GroupOptions, names_where_true, parse_positive, parse_threads};
use crate::cmd::name_parser::algorithm_with_variants;
use crate::cmd::property::parser_with_bound;
use crate::cmd::sweep::{MeasureFormat, SweepOptions};

const EXAMPLES: &str = "\
Examples:
  tenure simulate ricart-agrawala -n 5 --entries 3
  tenure simulate coordinated:bully --crash 5@inside:1 --trace run.ndjson
  tenure simulate raymond -n 7 --tree heap --latency exp:1 --runs 1000
  tenure simulate lamport --sweep n=3..9 --sweep latency=exp:1,exp:4 --plot lamport.svg";

/// Simulate an algorithm in virtual time, once or with many seeds: metrics and verdicts
///
/// Times are in virtual units; a message takes one unit unless --latency is given. Durations are
/// written 1.5 (constant), 1..3 (uniform), exp:2 (exponential with this mean) or lognormal:1,0.5
/// (median and standard deviation of the logarithm). The same seed and options give the same run on
/// every machine. Exit status 1: a property that the card promises or --property names is violated.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Algorithm to simulate, or NAME+VARIANT; `tenure list` shows all
    #[arg(value_parser = algorithm_with_variants(), hide_possible_values = true)]
    pub(super) algorithm: String,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Properties whose violation is a failure, besides those that the card promises
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = parser_with_bound(supported_properties()))]
    #[arg(help_heading = "Properties and output")]
    pub(super) property: Vec<Property>,
    #[command(flatten)]
    pub(crate) custom: CustomPropertyOptions,
    /// Intervene in the run after this number of its steps: '12 lose p2→p1 request'; also deliver
    /// (now), duplicate, delay p2→p1 by 2.5, crash p3, recover p3, fire p1 TIMER, enter p1, exit
    /// p1, elect p1, suspect p1 p2, trust p1 p2; -> stands for →; repeatable, in the order of the
    /// steps. `tenure lab` prints such commands
    #[arg(long, value_name = "STEP ACTION", help_heading = "Runs")]
    pub(super) steer: Vec<Intervention>,
    /// Stop after this number of steps, not counting those of --steer
    #[arg(long, value_name = "N", help_heading = "Runs")]
    pub(super) steps: Option<u64>,
    /// Measure the load: the busiest process and link, throughput, and utilisation (the share of
    /// time in which a process is inside); with --format json, of every process and link
    #[arg(long, help_heading = "Properties and output")]
    pub(super) load: bool,
    /// Write a trace of the first run to this file, as NDJSON
    #[arg(long, value_name = "FILE", help_heading = "Properties and output")]
    pub(super) trace: Option<PathBuf>,
    /// Also write the state of each process after every step that changed it
    #[arg(long, requires = "trace", help_heading = "Properties and output")]
    pub(super) states: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Properties and output")]
    pub(super) format: MeasureFormat,
    #[command(flatten)]
    pub(super) sweep: SweepOptions,
    /// Plot messages and times against the first --sweep, with 95 % confidence intervals, as .svg,
    /// .png or .pdf
    #[arg(long, value_name = "FILE", requires = "sweep", help_heading = "Sweeps")]
    pub(super) plot: Option<PathBuf>,
}

/// Options that determine a run, besides the algorithm.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) group: GroupOptions,
    /// M entries in total, by processes drawn uniformly, one request at a time (instead of
    /// --entries)
    #[arg(long, value_name = "M", conflicts_with = "entries")]
    #[arg(value_parser = parse_positive::<NonZeroU64>, help_heading = "Workload")]
    pub(crate) sequential: Option<NonZeroU64>,
    /// Open workload: time between requests of a process, served or not (instead of --think)
    #[arg(long, value_name = "D", conflicts_with_all = ["sequential", "think"])]
    #[arg(help_heading = "Workload")]
    pub(crate) arrivals: Option<Distribution>,
    /// A process with more entries than --entries: 3 (ten times the largest number) or 3:50
    #[arg(long, value_name = "P[:K]", conflicts_with = "sequential", help_heading = "Workload")]
    pub(crate) hot: Option<HotProcess>,
    /// Probability that a user notifies another user of its request, 0 to 1; the notified user then
    /// requests at once
    #[arg(long, value_name = "P", default_value = "0", allow_hyphen_values = true)]
    #[arg(help_heading = "Workload")]
    pub(crate) app_messages: Chance,
    /// Time between an exit and the next request of a process
    #[arg(long, value_name = "D", default_value = "0", help_heading = "Workload")]
    pub(crate) think: Distribution,
    /// Time inside the critical section
    #[arg(long, value_name = "D", default_value = "1", help_heading = "Workload")]
    pub(crate) hold: Distribution,
    /// Latency of messages [default: 1]
    #[arg(long, value_name = "D", help_heading = "Network and time")]
    pub(crate) latency: Option<Distribution>,
    /// Latency from one process to another: 1-2=5..9; repeatable
    #[arg(long, value_name = "P-P=D", help_heading = "Network and time")]
    pub(crate) link_latency: Vec<LinkLatency>,
    /// Probability that a message is lost, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(crate) lose: Chance,
    /// Probability that a message is duplicated, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(crate) duplicate: Chance,
    /// Crash a process at a time, 3@10; at its n-th message, 3@message:4; in the middle
    /// of its n-th step that sends messages, each of which is then lost with probability 1/2,
    /// 3@sending:2; in its n-th entry,
    /// 3@inside:2, or some time later, 3@inside:2+0.5; in its n-th wait, 3@waiting:1; in its n-th
    /// step that saves state, 3@saving:1 before the save (a partial save is discarded) or 3@saved:1
    /// after the save and before its effects leave; repeatable
    #[arg(long, value_name = "P@WHEN", value_parser = crash, help_heading = "Faults")]
    pub(crate) crash: Vec<Fault>,
    /// Recover a crashed process at a time, 3@50, or this long after each of its crashes, 3@+5;
    /// with its saved state, or without, 3@50:forgetful; repeatable
    #[arg(long, value_name = "P@T[:forgetful]", help_heading = "Faults")]
    pub(crate) recover: Vec<RecoveryOption>,
    /// Partition processes from all others for a time, 1,2@10..50, or for ever, 1,2@10.. (a process
    /// that then reaches no majority need not be served); repeatable
    #[arg(long, value_name = "LIST@A..B", value_parser = partition, help_heading = "Faults")]
    pub(crate) partition: Vec<Fault>,
    /// Maximum clock drift: 0.01 is one percent
    #[arg(long, value_name = "R", value_parser = parse_drift_to_ppm, default_value = "0")]
    #[arg(allow_hyphen_values = true, help_heading = "Network and time")]
    pub(crate) drift: u32,
    /// Delay after which failure detectors report a crash or recovery; without messages from the
    /// leader, an election starts after this time [default: 2]
    #[arg(long, value_name = "D", help_heading = "Network and time")]
    pub(crate) suspect_after: Option<Distribution>,
    /// Duration of a step of a process
    #[arg(long, value_name = "D", default_value = "0", help_heading = "Network and time")]
    pub(crate) step: Distribution,
    /// Time from which the bounds hold, for --timing partial
    #[arg(long, value_name = "T", value_parser = parse_bounded_time_units)]
    #[arg(help_heading = "Network and time")]
    pub(crate) gst: Option<u64>,
    /// Run until exactly this time, even if all requests are served earlier
    #[arg(long, value_name = "T", value_parser = parse_bounded_time_units)]
    #[arg(help_heading = "Runs")]
    pub(crate) until: Option<u64>,
    /// Seed of all random draws; run k of many has the seed S + k − 1
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Runs")]
    pub(crate) seed: u64,
    /// Number of runs
    #[arg(long, value_name = "K", value_parser = parse_positive::<NonZeroU64>)]
    #[arg(help_heading = "Runs")]
    pub(crate) runs: Option<NonZeroU64>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = parse_threads, help_heading = "Runs")]
    threads: Option<usize>,
}

impl RunOptions {
    /// Returns the number of threads that perform runs; 0 for one per core.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or(0)
    }

    pub(crate) fn runs_or(&self, default: u64) -> u64 {
        self.runs.map_or(default, NonZeroU64::get)
    }

    /// Returns a usage failure if the seed of the last of `runs` runs would exceed [`u64::MAX`].
    pub(crate) fn check_seeds(&self, runs: u64) -> Result<(), Failure> {
        let largest = u64::MAX - (runs - 1);
        if self.seed <= largest {
            return Ok(());
        }
        let seed = self.seed;
        Err(Failure::usage(format!(
            "invalid value '{seed}' for --seed with {runs} runs: expected at most {largest}"
        )))
    }

    /// Returns the given options that have no effect on an algorithm with this card.
    pub(crate) fn unused_options(&self, card: &Card) -> Vec<&'static str> {
        let elects = card.service == Service::Election || card.service.is_agreement();
        let detects = card.detection != DetectorClass::None;
        let is_held = has_hold_time(card.service);
        let is_in_phase = |fault: &Fault| {
            let Fault::Crash { when, .. } = fault else { return false };
            matches!(when, CrashTrigger::Inside { .. } | CrashTrigger::Waiting { .. })
        };
        let has_no_crashes = self.crash.is_empty() && self.group.down_processes().is_empty();
        let mut unused = self.group.unused_options(&card.name, card.service);
        unused.extend(names_where_true([
            ("--sequential", elects && self.sequential.is_some()),
            ("--arrivals", elects && self.arrivals.is_some()),
            ("--hot", card.service == Service::Election && self.hot.is_some()),
            ("--app-messages", elects && self.app_messages.can_occur()),
            ("--think", elects && self.think != Distribution::ZERO),
            ("--hold", !is_held && self.hold != Distribution::time_units(1)),
            ("--crash with inside or waiting", elects && self.crash.iter().any(is_in_phase)),
            ("--suspect-after", !detects && self.suspect_after.is_some()),
            ("--recover", has_no_crashes && !self.recover.is_empty()),
        ]));
        unused
    }

    pub(crate) fn faults(&self) -> Result<Vec<Fault>, Failure> {
        let mut faults = self.crash.clone();
        for recovery in &self.recover {
            recovery.add_to(&mut faults).map_err(Failure::usage)?;
        }
        faults.extend(self.partition.iter().cloned());
        Ok(faults)
    }

    pub(crate) fn latency(&self, size: u32) -> Result<Latency, Failure> {
        Latency::with_link_latencies(self.default_latency(), &self.link_latency, size)
            .map_err(Failure::usage)
    }

    /// Returns the latency of the links that `--link-latency` does not name.
    pub(crate) fn default_latency(&self) -> Distribution {
        self.latency.unwrap_or(Distribution::time_units(1))
    }
}

fn crash(text: &str) -> Result<Fault, SettingsError> {
    format!("crash {text}").parse()
}

fn partition(text: &str) -> Result<Fault, SettingsError> {
    format!("partition {text}").parse()
}
