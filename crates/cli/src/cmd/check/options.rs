//! The options of `tenure check`.

use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Arg, Args, ValueEnum};
use tenure_check::{CheckLimits, Fairness, MeasureConfig, RequestLimit, RequestLimits, SaveTiming};
use tenure_core::{Card, Property, RequiredInput, Service, Timing};
use tenure_sim::{EntriesPerProcess as Numbers, ProcessList, parse_drift_to_ppm};
use tenure_trace::ScriptAction;

use super::swarm::SwarmOptions;
use super::{measure, stabilization};
use crate::cmd::custom_property::CustomPropertyOptions;
use crate::cmd::duration;
use crate::cmd::failure::Failure;
use crate::cmd::group::{EntriesOption, GroupOptions, parse_positive, parse_threads};
use crate::cmd::machine;
use crate::cmd::name_parser::checkable_algorithm;
use crate::cmd::output::Format;
use crate::cmd::parse_options;
use crate::cmd::property::{check_requested_properties, parser_with_bound};
use crate::cmd::size::parse_byte_size;

const EXAMPLES: &str = "\
Examples:
  tenure check ricart-agrawala
  tenure check coordinated:bully --partition 1 --trace harm.ndjson
  tenure check central --never 'inside(P1) & inside(P3)'
  tenure check chang-roberts -n 4 --ids 4,3,2,1 --measure messages
  tenure check bully -n 2 --latency 0..1 --step 0..1 --drift 0.2";

/// Explore every schedule of a small group, within stated budgets of faults
///
/// The group has 3 processes unless -n, --ids, --loads, --topology, --tree or --quorums gives its
/// size. A property that is undecided at a limit, or when the search is interrupted, is reported as
/// incomplete, with the progress so far. Exit status 1: a property is violated; 3: one is
/// incomplete and none is violated.
///
/// Checks the properties of --property, and the expressions of --never, --always, --eventually and
/// --leads-to. If none of these options is given, checks the properties that the card promises. For
/// an algorithm with messages, order and bounded-bypass are checked only on request, because they
/// need more states. By default, cost and topology are checked only if no option permits faults or
/// waives assumptions. The cost is then checked only for a lock with a fixed number of messages per
/// entry.
///
/// Liveness (deadlock-freedom, starvation-freedom, progress, --eventually, --leads-to) is checked
/// under weak fairness, unless --fairness selects another one: a delivery, a timer, an exit from
/// the critical section, a report of a failure detector or the passing of time that stays enabled
/// for ever eventually happens. Requests, faults and recoveries need not happen.
#[derive(Debug, Args)]
#[command(mut_arg("n", default_size), after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Algorithm to check; `tenure list` shows all
    #[arg(value_parser = checkable_algorithm(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    #[command(flatten)]
    pub(crate) group: GroupOptions,
    /// Bounds on the latency of a message in synchronous mode, in whole units [default: 0..1]
    #[arg(long, value_name = "A..B", value_parser = whole_units, help_heading = "Network and time")]
    pub(crate) latency: Option<RangeInclusive<u32>>,
    /// Bounds on the duration of a step of a process in synchronous mode, in whole units. The
    /// messages of a step leave and its timers start at its end, and the steps of a process follow
    /// one another
    #[arg(long, value_name = "A..B", value_parser = whole_units, default_value = "0")]
    #[arg(help_heading = "Network and time")]
    pub(crate) step: RangeInclusive<u32>,
    /// Maximum clock drift in synchronous mode: 0.01 is one percent. Each timer fires at any whole
    /// unit that a clock within this bound can show; set timeouts in more units for a finer drift.
    /// In the other modes timers fire at any time, which includes every drift
    #[arg(long, value_name = "R", value_parser = parse_drift_to_ppm, default_value = "0")]
    #[arg(allow_hyphen_values = true, help_heading = "Network and time")]
    pub(crate) drift: u32,
    /// Maximum number of lost messages
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Faults")]
    pub(crate) lose: u32,
    /// Maximum number of duplicated messages
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Faults")]
    pub(crate) duplicate: u32,
    /// Maximum number of crashes
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Faults")]
    pub(crate) crash: u32,
    /// Maximum number of recoveries; a recovered process has its saved state
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Faults")]
    pub(crate) recover: u32,
    /// Points at which a process may crash while it saves a step and releases its effects
    #[arg(long, value_name = "MODE", default_value = "at-once", help_heading = "Faults")]
    pub(crate) saving: SaveTimingOption,
    /// Processes that may be cut off from the others, once, at any time and for ever: 1,2
    #[arg(long, value_name = "LIST", help_heading = "Faults")]
    pub(crate) partition: Option<ProcessList>,
    /// Maximum number of false suspicions of a live process
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Faults")]
    pub(crate) false_suspicion: u32,
    /// Number of generals that lie, of byzantine-generals [default: 1]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(..=4))]
    #[arg(help_heading = "Faults")]
    pub(crate) liars: Option<u32>,
    /// Let recovered processes start a new session, as real nodes do: at some time, each peer is
    /// notified that the process crashed, and then that it is alive, whatever the failure detectors
    /// report
    #[arg(long)]
    pub(crate) new_sessions: bool,
    /// Maximum number of messages between applications
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Workload")]
    pub(crate) app_messages: u32,
    /// Properties to check [default: most promises of the card; --help states the exceptions]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = parser_with_bound(supported_properties()))]
    #[arg(help_heading = "Properties and output")]
    pub(crate) property: Vec<Property>,
    #[command(flatten)]
    pub(crate) custom: CustomPropertyOptions,
    /// Steps that a run must take, for liveness: none (a run may stop anywhere), weak (a step that
    /// stays possible for ever is taken), strong (a step that is possible again and again is taken)
    #[arg(long, value_enum, default_value_t, value_name = "FAIRNESS")]
    #[arg(help_heading = "Properties and output", hide_possible_values = true)]
    pub(crate) fairness: FairnessOption,
    /// Instead of checking properties, report the maximum and the minimum of these measures over
    /// all schedules, each with a schedule that attains it. Measures: messages, received, time (the
    /// longest causal chain of messages), bypass, moves. messages=KIND counts one kind of message
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measure::parse)]
    #[arg(conflicts_with_all = ["property", "never", "always", "eventually", "leads_to"])]
    #[arg(help_heading = "Properties and output")]
    pub(crate) measure: Vec<MeasureConfig>,
    #[command(flatten)]
    pub(crate) swarm: SwarmOptions,
    /// Start in every state, to judge self-stabilization: any (machines that read the states of
    /// their neighbours, as in the paper) or any-with-messages (processes, with any message on each
    /// link; only for dijkstra-ring). For dijkstra-ring, dijkstra-four-state and
    /// dijkstra-three-state; the properties are closure and convergence, and the measure is moves
    #[arg(long, value_name = "STATES", hide_possible_values = true, help_heading = "Workload")]
    pub(crate) from: Option<stabilization::InitialStatesOption>,
    /// Number of states of a machine of dijkstra-ring, with --from [default: the number of
    /// machines, and twice as many with messages]
    #[arg(long, value_name = "K", requires = "from", help_heading = "Workload")]
    pub(crate) states: Option<u8>,
    /// Explore fewer states with the same verdicts: merge states that differ only by a symmetry,
    /// and for locks of 5 processes or more explore commuting deliveries in one order only
    #[arg(long, value_enum, default_value_t, help_heading = "Search")]
    pub(crate) reduce: ReductionOption,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = parse_threads, help_heading = "Search")]
    pub(crate) threads: Option<usize>,
    /// Keep whole states instead of fingerprints, so that no state can be missed by a collision
    #[arg(long, help_heading = "Search")]
    pub(crate) exact: bool,
    /// Stop after about this many states
    #[arg(long, value_name = "S", value_parser = parse_positive::<NonZeroU64>)]
    #[arg(help_heading = "Search")]
    pub(crate) max_states: Option<NonZeroU64>,
    /// Stop at this memory use, including the analysis of liveness: 500M, 2G [default: half of the
    /// machine's memory, or of the limit of the control group or of `ulimit -v` if that is lower]
    #[arg(long, value_name = "M", value_parser = parse_byte_size, help_heading = "Search")]
    pub(crate) max_memory: Option<u64>,
    /// Stop after this time, including the analysis of liveness: 30s, 5m, or none [default: 60s at
    /// a terminal, else 5m]
    #[arg(long, value_name = "D", value_parser = time_limit, help_heading = "Search")]
    pub(crate) max_time: Option<TimeLimit>,
    /// Maximum number of messages in a link; --when-full says what happens to a further one
    #[arg(long, value_name = "K", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub(crate) in_flight: u32,
    /// Treatment of a message whose link is full [default: drop with --lose if the algorithm
    /// tolerates any number of losses, else cut]
    #[arg(long, value_name = "ACTION", help_heading = "Search")]
    pub(crate) when_full: Option<FullLinkOption>,
    /// Start the search after these steps, written as in scripts with `:` for blanks:
    /// fire:p1:election,deliver:p1→p2
    #[arg(long, value_name = "STEPS", value_parser = steps, help_heading = "Search")]
    pub(crate) after: Option<PrefixSteps>,
    /// Declared bound on terms: states with a higher term are cut [default: 2]
    #[arg(long, value_name = "T", value_parser = parse_positive::<NonZeroU64>)]
    #[arg(help_heading = "Search")]
    pub(crate) term_max: Option<NonZeroU64>,
    /// Declared bound on the tickets of the bakery: states with a higher one are cut [default: 4]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Search")]
    pub(crate) ticket_max: Option<u32>,
    /// Write the shortest counterexample to this file, as a trace; with --measure, write the
    /// schedule that reaches the maximum of the first measure instead
    #[arg(long, value_name = "FILE", help_heading = "Properties and output")]
    pub(crate) trace: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Properties and output")]
    pub(crate) format: Format,
}

fn supported_properties() -> impl Iterator<Item = Property> {
    let agreed = |it: &Property| {
        let mut agreements = Service::AGREEMENTS.iter();
        !LOCK_AND_ELECTION_PROPERTIES.contains(it)
            && agreements.any(|service| it.applies_to(*service))
    };
    let known =
        LOCK_AND_ELECTION_PROPERTIES.into_iter().chain(Property::ALL.into_iter().filter(agreed));
    let known = known.chain([Property::Closure, Property::Convergence]);
    known.chain(tenure_instances::custom_properties(Service::MutexAndElection))
}

const LOCK_AND_ELECTION_PROPERTIES: [Property; 20] = [
    Property::MutualExclusion,
    Property::KExclusion(1),
    Property::LocalMutualExclusion,
    Property::DeadlockFreedom,
    Property::StarvationFreedom,
    Property::Progress,
    Property::Fencing,
    Property::FirstComeFirstServed,
    Property::OrderWithMessages,
    Property::Bypass(None),
    Property::Agreement,
    Property::Validity,
    Property::OneLeaderAtATime,
    Property::OneLeaderPerTerm,
    Property::SmallestLeads,
    Property::OneLeaderPerGroup,
    Property::FreshTerms,
    Property::SteadyLeader,
    Property::Cost,
    Property::Topology,
];

/// Points at which a process may crash while it saves the changes of a step and releases its
/// effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SaveTimingOption {
    /// No crash in between: a step, its save and the release of its effects are atomic
    #[default]
    AtOnce,
    /// Crashes between a save, which covers any number of steps, and the release of their effects
    Apart,
    /// Crashes between the release of effects and the save: the mistake of a runtime that sends
    /// before saving
    Late,
}

impl From<SaveTimingOption> for SaveTiming {
    fn from(option: SaveTimingOption) -> Self {
        match option {
            SaveTimingOption::AtOnce => SaveTiming::Atomic,
            SaveTimingOption::Apart => SaveTiming::BeforeRelease,
            SaveTimingOption::Late => SaveTiming::AfterRelease,
        }
    }
}

/// Fairness that the check of liveness assumes: the steps that a run must take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FairnessOption {
    /// No step
    None,
    /// A step that stays possible for ever
    #[default]
    Weak,
    /// A step that is possible again and again
    Strong,
}

impl From<FairnessOption> for Fairness {
    fn from(option: FairnessOption) -> Self {
        match option {
            FairnessOption::None => Fairness::None,
            FairnessOption::Weak => Fairness::Weak,
            FairnessOption::Strong => Fairness::Strong,
        }
    }
}

/// Treatment of a message whose link is full. A link is full if it contains as many messages as
/// `--in-flight` permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FullLinkOption {
    /// Lose the message; this loss does not count toward --lose
    Drop,
    /// Do not explore the state further, so that no more messages are lost than --lose permits
    Cut,
}

/// Steps of the algorithm that are performed before the search begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrefixSteps(pub(crate) Vec<ScriptAction>);

fn steps(text: &str) -> Result<PrefixSteps, String> {
    let spaced = text.replace(':', " ");
    let mut steps: Vec<String> = Vec::new();
    for part in spaced.split(',').map(str::trim) {
        match steps.last_mut() {
            // A step begins with a word. A number continues a list, as in `thirst p1 2,3`.
            Some(step) if part.starts_with(|first: char| first.is_ascii_digit()) => {
                step.push_str(&format!(",{part}"));
            }
            _ => steps.push(part.to_owned()),
        }
    }
    steps.iter().map(|step| step.parse()).collect::<Result<_, _>>().map(PrefixSteps)
}

/// Time limit of a search; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

fn time_limit(text: &str) -> Result<TimeLimit, String> {
    match text {
        "none" => Ok(TimeLimit(None)),
        text => match duration::parse(text)? {
            Duration::ZERO => Err("expected a positive duration, such as 10s".to_owned()),
            limit => Ok(TimeLimit(Some(limit))),
        },
    }
}

/// Selects whether the checker reduces the state space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReductionOption {
    /// If its conditions hold
    #[default]
    Auto,
    /// Never
    None,
}

impl Options {
    pub(crate) fn parse_line(line: &str) -> Result<Self, Failure> {
        parse_options(line.split_whitespace()).map_err(Failure::usage)
    }

    pub(crate) fn has_only_algorithm(&self) -> Result<bool, Failure> {
        Ok(format!("{self:?}") == format!("{:?}", Options::parse_line(&self.algorithm)?))
    }

    /// Returns the name of the first option whose value differs between these options and `other`,
    /// in the order of the fields. The name has no leading dashes. Returns `None` if all values are
    /// equal.
    pub(super) fn first_differing_option(&self, other: &Options) -> Option<String> {
        let [these, others] = [self, other].map(|options| format!("{options:#?}"));
        let (line, _) = these.lines().zip(others.lines()).find(|(one, other)| one != other)?;
        let field = line.trim().split(':').next().unwrap_or_default();
        Some(field.replace('_', "-"))
    }

    /// Sets the number of processes and the limits on memory and time where the user gives none.
    /// With these limits, every search ends by itself. The limit on memory is half of the available
    /// memory. The limit on time is one minute at a terminal, and five minutes otherwise.
    pub(crate) fn with_default_size_and_limits(mut self) -> Self {
        self.group = self.group.with_default_size(DEFAULT_CHECK_SIZE);
        self.max_memory = self.max_memory.or_else(|| Some(machine::memory_limit()? / 2));
        let default = match std::io::stdout().is_terminal() {
            true => Duration::from_mins(1),
            false => Duration::from_mins(5),
        };
        self.max_time = self.max_time.or(Some(TimeLimit(Some(default))));
        self
    }

    /// Returns the limits on states, memory and time. A limit is `None` if the search is not
    /// limited in this way.
    pub(super) fn limits(&self) -> CheckLimits {
        CheckLimits {
            states: self.max_states.map(NonZeroU64::get),
            bytes: self.max_memory,
            time: self.max_time.and_then(|limit| limit.0),
            memory_reader: Some(machine::memory_growth),
        }
    }

    /// Returns the properties to check, besides the expressions of the user. These are the
    /// properties of `--property`. Without `--property`, there are none if the user wrote
    /// expressions. Otherwise, they are most promises of the [`Card`], and the properties that the
    /// program itself adds.
    ///
    /// Returns a usage failure if `--property` selects a property that does not apply to the
    /// algorithm, or that this search cannot check.
    pub(crate) fn properties_to_check(&self, card: &Card) -> Result<Vec<Property>, Failure> {
        if self.property.is_empty() && !self.custom.is_empty() {
            return Ok(Vec::new());
        }
        if self.property.is_empty() {
            // Checks of the properties order and bypass have more states, so they run only on
            // request. The cost is checked by default only for locks whose cost is the same in all
            // runs.
            let by_default = |it: &Property| match it {
                Property::Bypass(_) => false,
                Property::Cost => {
                    let constant = card.messages.exact_messages().is_some();
                    constant && card.service == Service::Mutex && self.cost_obstacle(card).is_none()
                }
                Property::Topology => !self.permits_faults_or_waives_assumptions(),
                property => property.required_input() != RequiredInput::Clocks,
            };
            // Promises that need bounded clock drift are checked only with synchronous timing. With
            // other timing, a timer fires at any time.
            let timing = self.group.timing().unwrap_or(card.timing);
            let promised =
                card.promises_under_drift((timing >= Timing::Synchronous).then_some(self.drift));
            let own = tenure_instances::custom_properties(card.service);
            return Ok(promised.filter(by_default).chain(own).collect());
        }
        let expected = || format!("`tenure list {}` lists its properties", card.name);
        let (cost, topology) = (self.cost_obstacle(card), self.topology_obstacle(card));
        check_requested_properties(&self.property, card, expected, cost, topology)?;
        Ok(self.property.iter().map(|property| card.resolve_max_inside(*property)).collect())
    }

    /// Returns true if the options permit faults or contain `--beyond-assumptions`.
    pub(super) fn permits_faults_or_waives_assumptions(&self) -> bool {
        let faults = [self.lose, self.duplicate, self.crash, self.recover, self.false_suspicion];
        let fails = faults.iter().any(|most| *most > 0) || self.partition.is_some();
        fails || !self.group.down_processes().is_empty() || self.group.beyond_assumptions
    }

    /// Returns the reason why a search with these options cannot check the number of messages on
    /// the [`Card`]. Returns `None` if the search can check this number.
    fn cost_obstacle(&self, card: &Card) -> Option<&'static str> {
        let unbounded = matches!(self.group.entries, Some(EntriesOption::Unbounded));
        let whys = [
            (!card.messages.is_complete, "its card bounds only some of its messages"),
            (card.messages.most.is_none(), "its card has no upper bound on messages"),
            (
                self.permits_faults_or_waives_assumptions(),
                "its card covers only runs without faults",
            ),
            (
                unbounded && card.messages.exact_messages().is_none(),
                "the total grows without bound",
            ),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }

    /// Returns the reason why a search with these options cannot check the topology on the
    /// [`Card`]. Returns `None` if the search can check the topology.
    fn topology_obstacle(&self, card: &Card) -> Option<&'static str> {
        let whys = [
            (!card.has_checkable_links(), "its card names no ring and no graph"),
            (
                self.permits_faults_or_waives_assumptions(),
                "its card covers only runs without faults",
            ),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }

    pub(crate) fn entry_limits(&self, size: u32) -> RequestLimits {
        match &self.group.entries {
            None => RequestLimits::Same(RequestLimit::AtMost(1)),
            Some(EntriesOption::Of(Numbers::Each(each))) => {
                RequestLimits::Same(RequestLimit::AtMost(*each))
            }
            Some(EntriesOption::Unbounded) => RequestLimits::Same(RequestLimit::Unbounded),
            Some(EntriesOption::Of(Numbers::Listed(listed))) => {
                let padded = listed.iter().copied().chain(std::iter::repeat(0));
                RequestLimits::PerProcess(
                    padded.take(size as usize).map(RequestLimit::AtMost).collect(),
                )
            }
        }
    }
}

/// Default number of processes of a check. Three processes show the behaviour of most algorithms.
/// With four processes, many algorithms have too many schedules.
pub(super) const DEFAULT_CHECK_SIZE: u32 = 3;

/// Gives the option `-n` a default value, unless another option may determine the number of
/// processes.
fn default_size(n: Arg) -> Arg {
    let sized = ["ids", "loads", "topology", "tree", "quorums"];
    let listed = sized.map(|list| (list, ArgPredicate::IsPresent, None));
    let n = n.help("Number of processes [default: 3, or that of --ids, --loads or a graph]");
    n.default_value("3").default_value_ifs(listed).hide_default_value(true)
}

fn whole_units(text: &str) -> Result<RangeInclusive<u32>, String> {
    let fault = || "expected whole units, such as 1 or 0..1".to_owned();
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let least = least.parse().map_err(|_| fault())?;
    let most = most.parse().map_err(|_| fault())?;
    if least > most {
        return Err("expected the smaller number first".to_owned());
    }
    Ok(least..=most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse_line(&format!("lamport {line}")).expect("a check")
    }

    #[test]
    fn default_group_has_three_processes() {
        let sizes = ["", "-n 4", "--ids 5,3", "--loads 9,8,7,6"];
        assert_eq!(sizes.map(|line| options(line).group.size().ok()), [3, 4, 2, 4].map(Some));
    }

    #[test]
    fn search_is_limited_by_default() {
        let plain = options("").with_default_size_and_limits();
        assert_eq!(plain.max_memory, machine::memory_limit().map(|bytes| bytes / 2));
        assert!(plain.max_memory.is_some() || !cfg!(target_os = "linux"));
        assert_eq!(plain.max_states, None);
        let chosen = options("--max-memory 1G --max-time 5s").with_default_size_and_limits();
        let limits = (chosen.max_memory, chosen.max_time);
        assert_eq!(limits, (Some(1 << 30), Some(TimeLimit(Some(Duration::from_secs(5))))));
        // Tests have no terminal.
        assert_eq!(plain.max_time, Some(TimeLimit(Some(Duration::from_mins(5)))));
        let endless = options("--max-time none").with_default_size_and_limits();
        assert_eq!(endless.max_time, Some(TimeLimit(None)));
    }

    #[test]
    fn number_after_a_comma_continues_a_list() {
        let PrefixSteps(actions) = steps("thirst:p1:2,3,quench:p1").unwrap();
        let written: Vec<String> = actions.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["thirst p1 2,3", "quench p1"]);
    }

    #[test]
    fn parses_sizes_and_latencies() {
        assert_eq!(parse_byte_size("2G"), Ok(2 << 30));
        assert_eq!(parse_byte_size("512"), Ok(512));
        assert!(parse_byte_size("2T").is_err() && parse_byte_size("G").is_err());
        assert_eq!(whole_units("0..2"), Ok(0..=2));
        assert_eq!(whole_units("1"), Ok(1..=1));
        assert!(["2..1", "0.5", "5..5.5", "1.5..2"].into_iter().all(|it| whole_units(it).is_err()));
    }
}
