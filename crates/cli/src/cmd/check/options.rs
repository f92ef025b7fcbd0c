//! The options of `tenure check`.

use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Arg, Args, Parser, ValueEnum};
use tenure_check::{Entries, EntriesOfAll, Saving};
use tenure_core::{Card, Need, Property, Service, Timing};
use tenure_sim::{Entries as Numbers, Processes};
use tenure_trace::Action;

use crate::cmd::duration;
use crate::cmd::failure::Failure;
use crate::cmd::group::{EntriesAsked, GroupOptions, threads};
use crate::cmd::known::algorithm;
use crate::cmd::machine;
use crate::cmd::output::Format;
use crate::cmd::property::{self, bounded};
use crate::cmd::size::size;

const EXAMPLES: &str = "\
Examples:
  tenure check ricart-agrawala
  tenure check coordinated:bully --partition 1 --trace harm.ndjson
  tenure check lamport -n 3 --channel reordered --beyond-assumptions";

/// Explore every schedule of a small group, within stated budgets of faults
///
/// There are 3 processes unless -n, --ids or --loads say otherwise. What is not known at a limit is
/// told as incomplete, with how far the search has come, and so it is when the search is
/// interrupted. Exit status 1: a property is violated; 3: one is incomplete, and none is violated.
///
/// Liveness (deadlock-freedom, starvation-freedom, progress) is judged under weak fairness: a
/// delivery, a timer, an exit from the critical section, a word of a detector or the passing of
/// time that stays possible for ever happens in the end. A request, a fault or a recovery need not.
#[derive(Debug, Args)]
#[command(mut_arg("n", by_default), after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Which algorithm; `tenure list` shows them
    #[arg(value_parser = algorithm(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    #[command(flatten)]
    pub(crate) group: GroupOptions,
    /// Synchronous mode: what a message may take, in whole units
    #[arg(long, value_name = "A..B", value_parser = latency)]
    #[arg(help_heading = "Network and time")]
    pub(crate) latency: Option<RangeInclusive<u32>>,
    /// How many messages may be lost
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "Faults")]
    pub(crate) lose: u32,
    /// How many messages may arrive twice
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "Faults")]
    pub(crate) duplicate: u32,
    /// How many processes may crash
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "Faults")]
    pub(crate) crash: u32,
    /// How many crashed processes may come back with what they saved
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "Faults")]
    pub(crate) recover: u32,
    /// What a crash can come between where something is saved
    #[arg(long, value_name = "HOW", default_value = "at-once")]
    #[arg(help_heading = "Faults")]
    pub(crate) saving: SavingAsked,
    /// Who may be cut off from the others, once, at any moment and for ever: 1,2
    #[arg(long, value_name = "LIST")]
    #[arg(help_heading = "Faults")]
    pub(crate) partition: Option<Processes>,
    /// How often a live process may be suspected
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "Faults")]
    pub(crate) false_suspicion: u32,
    /// Whoever comes back is met in a new session, as by nodes: each is told at any moment that it
    /// crashed, and next that it is alive, whatever the detectors say
    #[arg(long)]
    pub(crate) new_sessions: bool,
    /// How many messages applications may send each other
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(help_heading = "The work")]
    pub(crate) app_messages: u32,
    /// What is judged [default: what the card promises]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bounded(judged()))]
    #[arg(help_heading = "Judged and told")]
    pub(crate) property: Vec<Property>,
    /// Whether worlds that differ only in where they stand are taken for one
    #[arg(long, value_enum, default_value_t)]
    #[arg(help_heading = "The search")]
    pub(crate) reduce: Reduce,
    /// How many threads search [default: all cores]
    #[arg(long, value_name = "T", value_parser = threads)]
    #[arg(help_heading = "The search")]
    pub(crate) threads: Option<usize>,
    /// Keep whole states instead of fingerprints: nothing can be missed
    #[arg(long)]
    #[arg(help_heading = "The search")]
    pub(crate) exact: bool,
    /// Stop at about so many states
    #[arg(long, value_name = "S")]
    #[arg(help_heading = "The search")]
    pub(crate) max_states: Option<u64>,
    /// Stop when so much memory is taken, analysis of liveness included: 500M, 2G [default: half of
    /// what there is]
    #[arg(long, value_name = "M", value_parser = size)]
    #[arg(help_heading = "The search")]
    pub(crate) max_memory: Option<u64>,
    /// Stop after so long, analysis of liveness included: 30s, 5m, or none for no limit [default:
    /// 60s where a terminal shows the result, else 5m]
    #[arg(long, value_name = "D", value_parser = time_limit)]
    #[arg(help_heading = "The search")]
    pub(crate) max_time: Option<TimeLimit>,
    /// A declared bound: a link holds at most so many messages
    #[arg(long, value_name = "K", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "The search")]
    pub(crate) in_flight: u32,
    /// What becomes of a message that finds its link full [default: drop where some may be lost,
    /// else cut]
    #[arg(long, value_name = "WHAT")]
    #[arg(help_heading = "The search")]
    pub(crate) when_full: Option<WhenFull>,
    /// Search on from where these steps lead, those of scripts with `:` for blanks:
    /// fire:p1:election,deliver:p1→p2
    #[arg(long, value_name = "STEPS", value_parser = steps)]
    #[arg(help_heading = "The search")]
    pub(crate) after: Option<Steps>,
    /// A declared bound: worlds with a higher term are cut [default: 2]
    #[arg(long, value_name = "T")]
    #[arg(help_heading = "The search")]
    pub(crate) term_max: Option<u64>,
    /// Where to write the shortest counterexample, as a trace
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Judged and told")]
    pub(crate) trace: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    #[arg(help_heading = "Judged and told")]
    pub(crate) format: Format,
}

/// What a checker judges of a lock, an election or an agreement.
fn judged() -> impl Iterator<Item = Property> {
    let agreed = |it: &Property| {
        let mut agreements = Service::AGREEMENTS.iter();
        !JUDGED.contains(it) && agreements.any(|service| it.is_of(*service))
    };
    JUDGED.into_iter().chain(Property::ALL.into_iter().filter(agreed))
}

/// What a checker judges of a lock or an election.
const JUDGED: [Property; 17] = [
    Property::MutualExclusion,
    Property::AtMost(1),
    Property::DeadlockFreedom,
    Property::StarvationFreedom,
    Property::Progress,
    Property::Fencing,
    Property::Order,
    Property::OrderWithMessages,
    Property::Bypass(None),
    Property::Agreement,
    Property::Validity,
    Property::OneLeaderAtATime,
    Property::OneLeaderPerTerm,
    Property::FreshTerms,
    Property::SteadyLeader,
    Property::Cost,
    Property::Topology,
];

/// When a process saves what a step has changed, and when the effects of the step leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SavingAsked {
    /// Nothing: a step, its save and the release of its effects are one
    #[default]
    AtOnce,
    /// A save, of any number of steps, and the release of their effects
    Apart,
    /// The release of effects and the save: a mistake, for a runner that lets go too early
    Late,
}

impl From<SavingAsked> for Saving {
    fn from(asked: SavingAsked) -> Self {
        match asked {
            SavingAsked::AtOnce => Saving::AtOnce,
            SavingAsked::Apart => Saving::Apart,
            SavingAsked::Late => Saving::Late,
        }
    }
}

/// What becomes of a message that finds its link full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenFull {
    /// It is lost, beyond what the budget of losses allows
    Drop,
    /// Worlds with it are cut off: only what the budget has is lost
    Cut,
}

/// What happens before a search begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) Vec<Action>);

fn steps(text: &str) -> Result<Steps, String> {
    let said = text.replace(':', " ");
    said.split(',').map(|step| step.trim().parse()).collect::<Result<_, _>>().map(Steps)
}

/// How long a search may take; without end where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

fn time_limit(text: &str) -> Result<TimeLimit, String> {
    match text {
        "none" => Ok(TimeLimit(None)),
        text => duration::parse(text).map(|limit| TimeLimit(Some(limit))),
    }
}

/// Whether worlds are brought into a canonical form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reduce {
    /// Where the algorithm allows it
    #[default]
    Auto,
    /// Never
    None,
}

impl Options {
    /// The options of a line.
    pub(crate) fn of(line: &str) -> Result<Self, Failure> {
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let words = ["check"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.options).map_err(Failure::usage)
    }

    /// Whether nothing is said but the name of the algorithm.
    pub(crate) fn is_bare(&self) -> Result<bool, Failure> {
        Ok(format!("{self:?}") == format!("{:?}", Options::of(&self.algorithm)?))
    }

    /// The same with limits where there are none, so that nobody has to end the search by force.
    pub(crate) fn limited(mut self) -> Self {
        self.max_memory = self.max_memory.or_else(|| Some(machine::memory()? / 2));
        let default = match std::io::stdout().is_terminal() {
            true => Duration::from_mins(1),
            false => Duration::from_mins(5),
        };
        self.max_time = self.max_time.or(Some(TimeLimit(Some(default))));
        self
    }

    /// What is judged: what was asked for, or what the card promises.
    pub(crate) fn properties(&self, card: &Card) -> Result<Vec<Property>, Failure> {
        if self.property.is_empty() {
            // Order and bypass are kept only when asked for: they make the worlds larger. So does
            // what was spent, unless it is the same in every run.
            let judged = |it: &Property| match it {
                Property::Bypass(_) => false,
                Property::Cost => {
                    let constant = card.messages.exactly().is_some();
                    constant && card.service == Service::Mutex && self.unpriced(card).is_none()
                }
                Property::Topology => !self.is_disturbed(),
                property => property.needs() != Need::Clocks,
            };
            // Outside synchronous time timers fire at any time.
            let timing = self.group.timing().unwrap_or(card.timing);
            let promised = card.promised((timing == Timing::Synchronous).then_some(0));
            return Ok(promised.filter(judged).collect());
        }
        if let Some(strange) = self.property.iter().find(|it| !it.is_of(card.service)) {
            let Card { name, .. } = card;
            if let Some(says) = property::of_locks(*strange, card) {
                return Err(Failure::usage(says));
            }
            return Err(Failure::usage(format!(
                "--property {strange} does not judge {name}; `tenure list {name}` shows what it \
                 offers",
            )));
        }
        let asked = |property| self.property.contains(&property);
        let cost = self.unpriced(card).filter(|_| asked(Property::Cost));
        let topology = self.off_ring(card).filter(|_| asked(Property::Topology));
        if let Some(why) = cost.or(topology) {
            let (property, name) = (if cost.is_some() { "cost" } else { "topology" }, &card.name);
            let says = format!("--property {property} does not judge {name} here: {why}");
            return Err(Failure::usage(says));
        }
        Ok(self.property.iter().map(|property| card.meant(*property)).collect())
    }

    /// Whether anything goes wrong in these searches, or beyond what the card assumes.
    fn is_disturbed(&self) -> bool {
        let faults = [self.lose, self.duplicate, self.crash, self.recover, self.false_suspicion];
        let fails = faults.iter().any(|most| *most > 0) || self.partition.is_some();
        fails || !self.group.down().is_empty() || self.group.beyond_assumptions
    }

    /// Why the card's cost says nothing of these searches, where it does not.
    fn unpriced(&self, card: &Card) -> Option<&'static str> {
        let unbounded = matches!(self.group.entries, Some(EntriesAsked::Unbounded));
        let whys = [
            (!card.messages.whole, "its card does not bound all that is sent"),
            (card.messages.most.is_none(), "its card says no most number of messages"),
            (self.is_disturbed(), "its card speaks of runs in which nothing fails"),
            (unbounded && card.messages.exactly().is_none(), "it adds up without end"),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }

    /// Why nothing can be said of who sends to whom, where it cannot.
    fn off_ring(&self, card: &Card) -> Option<&'static str> {
        let whys = [
            (!card.topology.is_ring(), "its card names no ring"),
            (self.is_disturbed(), "its card speaks of runs in which nothing fails"),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }

    /// How often each process asks.
    pub(crate) fn entries(&self, size: u32) -> EntriesOfAll {
        match &self.group.entries {
            None => EntriesOfAll::Each(Entries::AtMost(1)),
            Some(EntriesAsked::Of(Numbers::Each(each))) => {
                EntriesOfAll::Each(Entries::AtMost(*each))
            }
            Some(EntriesAsked::Unbounded) => EntriesOfAll::Each(Entries::Unbounded),
            Some(EntriesAsked::Of(Numbers::Listed(listed))) => {
                let padded = listed.iter().copied().chain(std::iter::repeat(0));
                EntriesOfAll::OneByOne(padded.take(size as usize).map(Entries::AtMost).collect())
            }
        }
    }
}

/// Three processes show what most algorithms do, and four have too many schedules for many.
fn by_default(n: Arg) -> Arg {
    let listed = ["ids", "loads"].map(|list| (list, ArgPredicate::IsPresent, None));
    let n = n.help("How many processes [default: 3, or as many as --ids or --loads list]");
    n.default_value("3").default_value_ifs(listed).hide_default_value(true)
}

fn latency(text: &str) -> Result<RangeInclusive<u32>, String> {
    let fault = || format!("`{text}` is no latency; write whole units like 1 or 0..1");
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let least = least.parse().map_err(|_| fault())?;
    let most = most.parse().map_err(|_| fault())?;
    if least > most {
        return Err(format!("`{text}` ends before it begins; write the smaller one first"));
    }
    Ok(least..=most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let words = ["check", "lamport"].into_iter().chain(line.split_whitespace());
        clap::Parser::try_parse_from(words).map(|line: Line| line.options).expect("a check")
    }

    #[test]
    fn there_are_three_where_nothing_says_so() {
        let sizes = ["", "-n 4", "--ids 5,3", "--loads 9,8,7,6"];
        assert_eq!(sizes.map(|line| options(line).group.size().ok()), [3, 4, 2, 4].map(Some));
    }

    #[test]
    fn no_search_fills_the_memory_unless_it_is_told_to() {
        let plain = options("").limited();
        assert_eq!(plain.max_memory, machine::memory().map(|bytes| bytes / 2));
        assert_eq!(plain.max_states, None);
        let told = options("--max-memory 1G --max-time 5s").limited();
        let limits = (told.max_memory, told.max_time);
        assert_eq!(limits, (Some(1 << 30), Some(TimeLimit(Some(Duration::from_secs(5))))));
        // Tests have no terminal.
        assert_eq!(plain.max_time, Some(TimeLimit(Some(Duration::from_mins(5)))));
        let endless = options("--max-time none").limited();
        assert_eq!(endless.max_time, Some(TimeLimit(None)));
    }

    #[test]
    fn amounts_and_latencies_are_read_as_they_are_written() {
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("512"), Ok(512));
        assert!(size("2T").is_err() && size("G").is_err());
        assert_eq!(latency("0..2"), Ok(0..=2));
        assert_eq!(latency("1"), Ok(1..=1));
        assert!(latency("2..1").is_err() && latency("0.5").is_err());
    }
}
