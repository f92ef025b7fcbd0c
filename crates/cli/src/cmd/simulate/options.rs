//! The options of `tenure simulate`, most of which `tenure compare` has too.

use std::path::PathBuf;

use clap::Args;
use tenure_core::Property;
use tenure_sim::{
    Chance, Comeback, Fault, Hot, Latency, Link, SettingsError, Span, Steer, parse_drift,
    parse_units,
};

use super::plan::judged;
use crate::cmd::failure::Failure;
use crate::cmd::group::{GroupOptions, threads};
use crate::cmd::known::algorithm;
use crate::cmd::output::Format;
use crate::cmd::property::bounded;

const EXAMPLES: &str = "\
Examples:
  tenure simulate ricart-agrawala -n 5 --entries 3
  tenure simulate coordinated:bully --crash 5@inside:1 --trace run.ndjson
  tenure simulate raymond -n 7 --tree heap --latency exp:1 --runs 1000";

/// Run an algorithm in virtual time, once or with many seeds: metrics and verdicts
///
/// Times are in virtual units, a message taking one unless --latency says otherwise. Durations are
/// written 1.5 (always), 1..3 (uniform), exp:2 (exponential with that mean) or lognormal:1,0.5
/// (median, deviation of the logarithm). The same seed and options give the same run on every
/// machine. Exit status 1: a property was violated that the card promises or --property names.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Which algorithm; `tenure list` shows them
    #[arg(value_parser = algorithm(), hide_possible_values = true)]
    pub(super) algorithm: String,
    #[command(flatten)]
    pub(super) run: RunOptions,
    /// Properties whose violation is a failure, besides those that the card promises
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bounded(judged()))]
    #[arg(help_heading = "Judged and told")]
    pub(super) property: Vec<Property>,
    /// Do something in the run that would not happen by itself, after so many of its steps:
    /// '12 lose p2→p1 request'; also deliver (now), duplicate, delay p2→p1 by 2.5, crash p3,
    /// recover p3, fire p1 TIMER, enter p1, exit p1, elect p1, suspect p1 p2, trust p1 p2; -> is →;
    /// repeatable, in the order of the steps. `tenure lab` prints such commands
    #[arg(long, value_name = "STEP ACTION")]
    #[arg(help_heading = "The runs")]
    pub(super) steer: Vec<Steer>,
    /// Stop after so many steps, what --steer does not counted
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "The runs")]
    pub(super) steps: Option<u64>,
    /// Write all that happened in the first run, as NDJSON
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Judged and told")]
    pub(super) trace: Option<PathBuf>,
    /// In the trace, what each process holds after every step that changed it
    #[arg(long, requires = "trace")]
    #[arg(help_heading = "Judged and told")]
    pub(super) states: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    #[arg(help_heading = "Judged and told")]
    pub(super) format: Format,
}

/// What decides a run, besides the algorithm.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) group: GroupOptions,
    /// Instead of --entries: M entries by processes drawn uniformly, one request at a time
    #[arg(long, value_name = "M", conflicts_with = "entries")]
    #[arg(help_heading = "The work")]
    pub(crate) sequential: Option<u64>,
    /// Instead of closed loops: requests arrive at each process this far apart, served or not
    #[arg(long, value_name = "D")]
    #[arg(conflicts_with_all = ["sequential", "think"])]
    #[arg(help_heading = "The work")]
    pub(crate) arrivals: Option<Span>,
    /// One process enters more often than --entries says: 3 (ten times) or 3:50
    #[arg(long, value_name = "P[:K]", conflicts_with = "sequential")]
    #[arg(help_heading = "The work")]
    pub(crate) hot: Option<Hot>,
    /// How likely a user who asks to enter tells another, who then asks at once, 0 to 1
    #[arg(long, value_name = "P", default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    #[arg(help_heading = "The work")]
    pub(crate) app_messages: Chance,
    /// The time between an exit and the next request of a process
    #[arg(long, value_name = "D", default_value = "0")]
    #[arg(help_heading = "The work")]
    pub(crate) think: Span,
    /// The time inside the critical section
    #[arg(long, value_name = "D", default_value = "1")]
    #[arg(help_heading = "The work")]
    pub(crate) hold: Span,
    /// How long a message takes
    #[arg(long, value_name = "D", default_value = "1")]
    #[arg(help_heading = "Network and time")]
    pub(crate) latency: Span,
    /// How long a message takes from one process to another: 1-2=5..9; repeatable
    #[arg(long, value_name = "P-P=D")]
    #[arg(help_heading = "Network and time")]
    pub(crate) link_latency: Vec<Link>,
    /// How likely a message is lost, 0 to 1
    #[arg(long, value_name = "P", default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(crate) lose: Chance,
    /// How likely a message arrives twice, 0 to 1
    #[arg(long, value_name = "P", default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(crate) duplicate: Chance,
    /// Crash a process at a time, 3@10; on its n-th message, 3@message:4; in its n-th entry,
    /// 3@inside:2, or a while after, 3@inside:2+0.5; in its n-th wait, 3@waiting:1; in its
    /// n-th step that saves something, 3@saving:1 before the save (what is torn is cut), 3@saved:1
    /// after it and before anybody hears of it; repeatable
    #[arg(long, value_name = "P@WHEN", value_parser = crash)]
    #[arg(help_heading = "Faults")]
    pub(crate) crash: Vec<Fault>,
    /// Bring a crashed process back at a time, 3@50, or so long after each of its crashes, 3@+5;
    /// with what it had saved, or without, 3@50:forgetful; repeatable
    #[arg(long, value_name = "P@T[:forgetful]")]
    #[arg(help_heading = "Faults")]
    pub(crate) recover: Vec<Comeback>,
    /// Cut processes off from all others for a while, 1,2@10..50, or for ever, 1,2@10..;
    /// repeatable
    #[arg(long, value_name = "LIST@A..B", value_parser = partition)]
    #[arg(help_heading = "Faults")]
    pub(crate) partition: Vec<Fault>,
    /// How much faster or slower clocks may run: 0.01 is one in a hundred
    #[arg(long, value_name = "R", value_parser = parse_drift, default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    #[arg(help_heading = "Network and time")]
    pub(crate) drift: u32,
    /// How long after a crash or a recovery each process is told of it by its failure detector: the
    /// interval without a word of the leader after which an election is called [default: 2]
    #[arg(long, value_name = "D")]
    #[arg(help_heading = "Network and time")]
    pub(crate) suspect_after: Option<Span>,
    /// How long a process takes for a step
    #[arg(long, value_name = "D", default_value = "0")]
    #[arg(help_heading = "Network and time")]
    pub(crate) step: Span,
    /// With partial timing: when bounds begin to hold
    #[arg(long, value_name = "T", value_parser = parse_units)]
    #[arg(help_heading = "Network and time")]
    pub(crate) gst: Option<u64>,
    /// Run to exactly this time, even when all are served before
    #[arg(long, value_name = "T", value_parser = parse_units)]
    #[arg(help_heading = "The runs")]
    pub(crate) until: Option<u64>,
    /// What every draw is made from; run k of many has the seed S + k − 1
    #[arg(long, value_name = "S", default_value_t = 1)]
    #[arg(help_heading = "The runs")]
    pub(crate) seed: u64,
    /// How many runs
    #[arg(long, value_name = "K")]
    #[arg(help_heading = "The runs")]
    pub(crate) runs: Option<u64>,
    /// How many threads make the runs [default: all cores]
    #[arg(long, value_name = "T", value_parser = threads)]
    #[arg(default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "The runs")]
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
            comeback.join(&mut faults).map_err(Failure::usage)?;
        }
        faults.extend(self.partition.iter().cloned());
        Ok(faults)
    }

    /// How long messages take in a group of `size`.
    pub(crate) fn latency(&self, size: u32) -> Result<Latency, Failure> {
        Latency::linked(self.latency, &self.link_latency, size).map_err(Failure::usage)
    }
}

fn crash(text: &str) -> Result<Fault, SettingsError> {
    format!("crash {text}").parse()
}

fn partition(text: &str) -> Result<Fault, SettingsError> {
    format!("partition {text}").parse()
}
