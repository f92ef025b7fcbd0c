//! What `simulate`, `check` and `compare` ask about a group of processes in the same way.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use tenure_algorithms::catalogue::{self, Parameters, QUORUMS, TREES};
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Card, Delay, Order, ProcessId, Rank, Service, Timing};
use tenure_sim::{Entries, Initiators, Processes, SettingsError, Span, parse_process};

use super::failure::Failure;
use super::known::Known;

/// How many processes there are when nothing says so.
pub(crate) const DEFAULT_SIZE: u32 = 5;

/// More processes than this do not fit into the memory of ordinary machines.
const MOST_PROCESSES: u32 = 16_000_000;

/// Each thread takes memory, and no machine has more cores than this.
const MOST_THREADS: usize = 1024;

/// The options that describe a group, its users and its surroundings.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The group")]
pub(crate) struct GroupOptions {
    /// How many processes [default: 5, or as many as --ids or --loads list]
    #[arg(short, long = "nodes", value_name = "N", value_parser = nodes)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) n: Option<u32>,
    /// Ranks by place on the ring, in the direction of messages: 8,1,5 or random [default: 1..n]
    #[arg(long, value_name = "LIST|random", value_parser = ids, conflicts_with = "loads")]
    pub(crate) ids: Option<Ids>,
    /// Ranks <1/load, i> instead, the least loaded being the highest: 50,25,25
    #[arg(long, value_name = "LIST", value_parser = loads)]
    pub(crate) loads: Option<Listed<NonZeroU32>>,
    /// Who starts the election, or asks for an agreement: all or 2,3 [default: all]
    #[arg(long, value_name = "all|LIST")]
    #[arg(help_heading = "The work")]
    pub(crate) initiators: Option<Initiators>,
    /// Who has crashed before the start: 5 or 4,5
    #[arg(long, value_name = "LIST")]
    #[arg(help_heading = "Faults")]
    pub(crate) down: Option<Processes>,
    /// How often each process enters the critical section, or asks for an agreement: 2, or one by
    /// one 2,1,0 [default: 1]
    #[arg(long, value_name = "K|LIST", value_parser = entries, allow_hyphen_values = true)]
    #[arg(help_heading = "The work")]
    pub(crate) entries: Option<EntriesAsked>,
    /// In which order links deliver [default: the weakest that the card allows]
    #[arg(long, value_enum)]
    #[arg(help_heading = "Network and time")]
    pub(crate) channel: Option<Channel>,
    /// The tree of tree algorithms: star, path or heap, with P1 on top [default: star]
    #[arg(long, value_name = "NAME", value_parser = trees(), hide_possible_values = true)]
    pub(crate) tree: Option<Shape>,
    /// The quorums of quorum algorithms: pairs, fpp, grid, majority or tree [default: grid; for
    /// `majority`, majorities, also where a grid is asked for]
    #[arg(long, value_name = "NAME", value_parser = kinds(), hide_possible_values = true)]
    pub(crate) quorums: Option<Kind>,
    /// How many a k-mutex lets in at once [default: 2]
    #[arg(long, value_name = "K")]
    pub(crate) k: Option<NonZeroU32>,
    /// Switches that the algorithm declares (`tenure list ALGORITHM` shows them): NAME,NAME
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) variant: Vec<String>,
    /// Set a timeout of the algorithm, in units: answer=5, election=10..20; repeatable. The others
    /// follow from the bounds on latency, step and drift. `tenure list ALGORITHM` shows the names
    #[arg(long, value_name = "NAME=D")]
    #[arg(help_heading = "Network and time")]
    pub(crate) timeout: Vec<TimeoutAsked>,
    /// What is known about time [default: the weakest that the card allows]
    #[arg(long, value_enum)]
    #[arg(help_heading = "Network and time")]
    pub(crate) timing: Option<TimingAsked>,
    /// Who coordinates, where that is fixed [default: 1]
    #[arg(long, value_name = "P", value_parser = parse_process)]
    pub(crate) coordinator: Option<ProcessId>,
    /// Run outside what the algorithm's card assumes
    #[arg(long)]
    pub(crate) beyond_assumptions: bool,
}

impl GroupOptions {
    /// How many processes there are.
    pub(crate) fn size(&self) -> Result<u32, Failure> {
        let listed = match (&self.ids, &self.loads) {
            (Some(Ids::Listed(ids)), _) => Some(("--ids", "ranks", ids.0.len())),
            (_, Some(loads)) => Some(("--loads", "loads", loads.0.len())),
            _ => None,
        };
        let size = match (self.n, listed) {
            (Some(n), Some((option, what, listed))) if n as usize != listed => {
                return Err(Failure::usage(format!(
                    "{option} lists {listed} {what} for -n {n}; give one for each process"
                )));
            }
            (Some(n), _) => n,
            (None, Some((_, _, listed))) => u32::try_from(listed).unwrap_or(u32::MAX),
            (None, None) => DEFAULT_SIZE,
        };
        if !(1..=MOST_PROCESSES).contains(&size) {
            let most = MOST_PROCESSES;
            let says = format!("a group of {size} processes cannot be; -n is 1 to {most}");
            return Err(Failure::usage(says));
        }
        Ok(size)
    }

    /// What the configuration of an algorithm depends on. Ranks that are drawn anew for each run
    /// are 1..n here; the longest delay of a message is one unit.
    pub(crate) fn parameters(&self) -> Result<Parameters, Failure> {
        let plain = Parameters::plain(self.size()?);
        self.check_processes(plain.size)?;
        let ranks = match (&self.ids, &self.loads) {
            (Some(Ids::Listed(ids)), _) => ids.0.iter().map(|id| Rank::of_id(*id)).collect(),
            (_, Some(loads)) => {
                (1..).zip(&loads.0).map(|(id, load)| Rank::of_load(*load, id)).collect()
            }
            _ => plain.ranks,
        };
        if !self.beyond_assumptions {
            different(&ranks)?;
        }
        Ok(Parameters {
            ranks,
            absent: self.down().iter().copied().collect(),
            coordinator: self.coordinator.unwrap_or(plain.coordinator),
            quorums: self.quorums.unwrap_or(plain.quorums),
            most_inside: self.k.unwrap_or(plain.most_inside),
            tree: self.tree.unwrap_or(plain.tree),
            variants: self.variant.clone(),
            timeouts: self.timeout.iter().map(|it| (it.name.clone(), it.delay)).collect(),
            ..plain
        })
    }

    /// Rejects a timeout that the algorithm does not have.
    pub(crate) fn check_timeouts(&self, card: &Card) -> Result<(), Failure> {
        let known = || card.timeouts.iter().map(|timeout| timeout.name);
        let strange = self.timeout.iter().find(|asked| known().all(|name| name != asked.name));
        let Some(TimeoutAsked { name, .. }) = strange else { return Ok(()) };
        let known = known().collect::<Vec<_>>().join(", ");
        let expected = if known.is_empty() { "none, it has no timeouts" } else { &known };
        Err(Failure::usage(format!(
            "invalid timeout '{name}' for {}: expected {expected}",
            card.name
        )))
    }

    /// Whether a rank is drawn for each process, anew for each run.
    pub(crate) fn draws_ids(&self) -> bool {
        matches!(self.ids, Some(Ids::Random))
    }

    /// Who starts the election; `None`: all.
    pub(crate) fn initiators(&self) -> Option<&[ProcessId]> {
        match &self.initiators {
            Some(Initiators::Listed(listed)) => Some(listed),
            Some(Initiators::All) | None => None,
        }
    }

    /// The options that are given and make no difference to an algorithm.
    pub(crate) fn idle(&self, algorithm: &str, service: Service) -> Vec<&'static str> {
        let plain = Parameters { variants: self.variant.clone(), ..Parameters::plain(7) };
        let ignored = |other: Parameters| ignores(algorithm, &plain, &other);
        let (tree, quorums, other) = (Shape::Path, Kind::Plane, ProcessId(1));
        let three = plain.most_inside.saturating_add(1);
        let elects = service == Service::Election;
        let begins = elects || service.is_agreement();
        let given = [
            ("--initiators", self.initiators.is_some() && !begins),
            ("--entries", self.entries.is_some() && elects),
            ("--tree", self.tree.is_some() && ignored(Parameters { tree, ..plain.clone() })),
            (
                "--quorums",
                self.quorums.is_some() && ignored(Parameters { quorums, ..plain.clone() }),
            ),
            (
                "--k",
                self.k.is_some() && ignored(Parameters { most_inside: three, ..plain.clone() }),
            ),
            (
                "--coordinator",
                self.coordinator.is_some()
                    && ignored(Parameters { coordinator: other, ..plain.clone() }),
            ),
        ];
        given.into_iter().filter(|(_, idle)| *idle).map(|(option, _)| option).collect()
    }

    /// Who has crashed before the start.
    pub(crate) fn down(&self) -> &[ProcessId] {
        self.down.as_ref().map_or(&[], |down| &down.0)
    }

    /// In which order links deliver; `None`: as the card says.
    pub(crate) fn order(&self) -> Option<Order> {
        self.channel.map(|channel| match channel {
            Channel::Fifo => Order::Fifo,
            Channel::Reordered => Order::Reordered,
        })
    }

    /// What is known about time; `None`: as the card says.
    pub(crate) fn timing(&self) -> Option<Timing> {
        self.timing.map(|timing| match timing {
            TimingAsked::Asynchronous => Timing::Asynchronous,
            TimingAsked::Partial => Timing::Partial,
            TimingAsked::Synchronous => Timing::Synchronous,
        })
    }

    /// The options that configure the algorithm itself, as a command line has them.
    pub(crate) fn algorithm_options(&self) -> String {
        let mut options = String::new();
        let mut option = |name: &str, value: &str| options.push_str(&format!(" --{name} {value}"));
        if let Some(coordinator) = self.coordinator {
            option("coordinator", &coordinator.number().to_string());
        }
        if let Some((name, _)) = TREES.iter().find(|(_, shape)| Some(*shape) == self.tree) {
            option("tree", name);
        }
        if let Some((name, _)) = QUORUMS.iter().find(|(_, kind)| Some(*kind) == self.quorums) {
            option("quorums", name);
        }
        if let Some(most) = self.k {
            option("k", &most.to_string());
        }
        if !self.variant.is_empty() {
            option("variant", &self.variant.join(","));
        }
        for timeout in &self.timeout {
            option("timeout", &timeout.to_string());
        }
        options
    }

    /// The options that make this group again, word by word, as a trace keeps them.
    pub(crate) fn words(&self) -> Result<Vec<String>, Failure> {
        let mut words = vec!["-n".to_owned(), self.size()?.to_string()];
        let mut list = |name: &str, list: Vec<String>| {
            words.extend([name.to_owned(), list.join(",")]);
        };
        if let Some(Ids::Listed(ids)) = &self.ids {
            list("--ids", ids.0.iter().map(u32::to_string).collect());
        }
        if let Some(loads) = &self.loads {
            list("--loads", loads.0.iter().map(NonZeroU32::to_string).collect());
        }
        if !self.down().is_empty() {
            list("--down", self.down().iter().map(|down| down.number().to_string()).collect());
        }
        if different(&self.parameters()?.ranks).is_err() {
            words.push("--beyond-assumptions".to_owned());
        }
        words.extend(self.algorithm_options().split_whitespace().map(str::to_owned));
        Ok(words)
    }

    fn check_processes(&self, size: u32) -> Result<(), Failure> {
        let initiators = self.initiators().unwrap_or(&[]);
        let named = [
            ("--initiators", initiators),
            ("--down", self.down()),
            ("--coordinator", self.coordinator.as_slice()),
        ];
        for (option, processes) in named {
            if let Some(stranger) = processes.iter().find(|process| process.0 >= size) {
                let says = format!("{option} names {stranger}, but the group is P1 to P{size}");
                return Err(Failure::usage(says));
            }
        }
        match &self.entries {
            Some(EntriesAsked::Of(Entries::Listed(listed))) if listed.len() > size as usize => {
                let listed = listed.len();
                Err(Failure::usage(format!(
                    "--entries lists {listed} numbers for {size} processes; give at most one each"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// A timeout that the user sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeoutAsked {
    name: String,
    delay: Delay,
}

impl FromStr for TimeoutAsked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid timeout '{text}': expected NAME=5 or NAME=10..20");
        let (name, span) = text.split_once('=').ok_or_else(wrong)?;
        let delay = match span.parse().map_err(|_| wrong())? {
            Span::Constant(ticks) => Delay::ticks(ticks),
            Span::Uniform { min, max } => Delay { min, max },
            Span::Exponential { .. } | Span::LogNormal { .. } => return Err(wrong()),
        };
        if name.is_empty() || delay.max == 0 {
            return Err(wrong());
        }
        Ok(TimeoutAsked { name: name.to_owned(), delay })
    }
}

impl fmt::Display for TimeoutAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, in_units(self.delay))
    }
}

/// A delay in virtual units: 5 or 10..20.
pub(crate) fn in_units(delay: Delay) -> Span {
    let Delay { min, max } = delay;
    if min == max { Span::Constant(max) } else { Span::Uniform { min, max } }
}

/// What a list on the command line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

/// The ranks of the processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// By place on the ring.
    Listed(Listed<u32>),
    /// A fresh permutation of 1..n for each run.
    Random,
}

/// How often processes enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntriesAsked {
    /// So often.
    Of(Entries),
    /// For ever, which only the checker can.
    Unbounded,
}

/// In which order a link delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    /// First in, first out
    Fifo,
    /// In any order
    Reordered,
}

/// What is known about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimingAsked {
    /// Nothing but that every message arrives
    Asynchronous,
    /// Bounds on delay, step and drift
    Synchronous,
    /// Bounds that hold from some moment on
    Partial,
}

fn numbers<T: std::str::FromStr>(text: &str, wanted: &str) -> Result<Vec<T>, String> {
    let number = |part: &str| {
        part.parse().map_err(|_| format!("`{part}` is no {wanted}; write numbers like 8,1,5"))
    };
    text.split(',').map(number).collect()
}

fn ids(text: &str) -> Result<Ids, String> {
    if text == "random" {
        return Ok(Ids::Random);
    }
    numbers(text, "rank").map(|ids| Ids::Listed(Listed(ids)))
}

/// Whether an algorithm is configured by other parameters as by these.
pub(crate) fn ignores(algorithm: &str, plain: &Parameters, other: &Parameters) -> bool {
    let config = |parameters: &Parameters| {
        let subject = tenure_instances::subject(algorithm, parameters).ok()?;
        Some(subject.configuration())
    };
    let usual = config(plain);
    usual.is_some() && config(other) == usual
}

/// A number of processes, which is looked at again where it is known how many there may be.
pub(crate) fn nodes(text: &str) -> Result<u32, String> {
    match text.parse::<i128>() {
        Ok(below) if below < 0 => Err(format!("`{text}` is too small; 1 is the least")),
        _ => text.parse().map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

fn loads(text: &str) -> Result<Listed<NonZeroU32>, String> {
    numbers(text, "load of 1 or more").map(Listed)
}

fn entries(text: &str) -> Result<EntriesAsked, SettingsError> {
    if text == "unbounded" {
        return Ok(EntriesAsked::Unbounded);
    }
    text.parse().map(EntriesAsked::Of)
}

/// A number of threads, 0 for one on each core.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if threads <= MOST_THREADS => Ok(threads),
        Ok(_) => Err(format!("{text} threads are more than help; write 1 to {MOST_THREADS}")),
        Err(_) => Err(format!("`{text}` is no number of threads; write 1 to {MOST_THREADS}")),
    }
}

fn trees() -> Known<Shape> {
    let read = |text: &str| catalogue::tree(text).map_err(|unknown| unknown.to_string());
    Known::new(|| TREES.iter().map(|(name, _)| *name).collect(), read)
}

fn kinds() -> Known<Kind> {
    let read = |text: &str| catalogue::quorums(text).map_err(|unknown| unknown.to_string());
    Known::new(|| QUORUMS.iter().map(|(name, _)| *name).collect(), read)
}

/// Ranks decide, so no two may be equal.
pub(crate) fn different(ranks: &[Rank]) -> Result<(), Failure> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let mends = "ranks must differ; change one or add --beyond-assumptions";
            Err(Failure::usage(format!("rank {} is given twice; {mends}", pair[0])))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        group: GroupOptions,
    }

    fn group(line: &str) -> GroupOptions {
        let line = ["group"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(line).expect("the line is well formed").group
    }

    fn refusal(line: &str) -> String {
        group(line).parameters().expect_err("the group makes no sense").to_string()
    }

    #[test]
    fn a_list_says_how_many_there_are() {
        assert_eq!(group("").size().unwrap(), 5);
        assert_eq!(group("--ids 8,1,5").size().unwrap(), 3);
        assert_eq!(group("--loads 50,25").size().unwrap(), 2);
        assert_eq!(group("--ids random -n 7").size().unwrap(), 7);
        assert!(refusal("--ids 8,1,5 -n 4").contains("lists 3 ranks for -n 4"));
    }

    #[test]
    fn the_least_loaded_has_the_highest_rank() {
        let ranks = group("--loads 50,25,25").parameters().unwrap().ranks;
        assert_eq!(ranks.iter().max().map(|rank| rank.id), Some(3));
    }

    #[test]
    fn a_group_that_cannot_be_is_refused_in_a_sentence() {
        assert!(refusal("-n 0").contains("-n is 1 to"));
        assert!(refusal("--ids 3,1,3").contains("rank 3 is given twice"));
        assert!(refusal("-n 3 --down 4").contains("--down names P4"));
        assert!(refusal("-n 3 --initiators 1,9").contains("--initiators names P9"));
        assert!(refusal("-n 3 --coordinator 4").contains("--coordinator names P4"));
        assert!(refusal("-n 2 --entries 1,1,1").contains("at most one each"));
    }

    #[test]
    fn what_configures_the_algorithm_is_written_as_it_was_read() {
        let line = " --coordinator 2 --tree heap --quorums fpp --k 3 --variant one,two \
                    --timeout answer=2.5 --timeout election=10..20";
        assert_eq!(group(line).algorithm_options(), line);
    }

    #[test]
    fn rejects_timeout_without_name_or_fixed_length() {
        for text in ["answer", "=5", "answer=", "answer=0", "answer=exp:5", "answer=5..1"] {
            assert!(text.parse::<TimeoutAsked>().is_err(), "{text}");
        }
        let card = tenure_instances::card("bully", &Parameters::plain(3)).unwrap();
        let refusal = group("--timeout answr=5").check_timeouts(&card).unwrap_err().to_string();
        assert_eq!(refusal, "invalid timeout 'answr' for bully: expected answer, coordinator");
        assert!(group("--timeout answer=5").check_timeouts(&card).is_ok());
    }
}
