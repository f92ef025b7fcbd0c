//! Options of a group of processes, shared by `simulate`, `check` and `compare`.

use std::num::{IntErrorKind, NonZeroU32, ParseIntError};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tenure_algorithms::catalogue::{Parameters, QUORUM_KINDS, TREE_SHAPES};
use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::tree::TreeShape;
use tenure_core::{Card, ChannelOrder, ProcessId, Rank, Service, Timing};
use tenure_sim::{EntriesPerProcess, Initiators, ProcessList, SettingsError, parse_process_number};

use super::failure::Failure;
use super::graph::{QuorumsOption, TOPOLOGIES, TopologyOption, TreeOption};
use super::name_parser::NameParser;
use super::timeout_option::TimeoutOption;

pub(crate) const DEFAULT_GROUP_SIZE: u32 = 5;

/// Upper bound on the number of processes. Larger groups do not fit into the memory of ordinary
/// machines.
const MAX_PROCESSES: u32 = 16_000_000;

/// Upper bound on `--threads`: each thread takes memory, and few machines have more cores.
const MAX_THREADS: usize = 1024;

/// Options that describe a group, its workload and its environment.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct GroupOptions {
    /// Number of processes [default: 5, or that of --ids, --loads or a graph]
    #[arg(short, long = "nodes", value_name = "N", value_parser = parse_size)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) n: Option<u32>,
    /// Ranks in ring order, in the direction of messages: 8,1,5 or random [default: 1..n]
    #[arg(long, value_name = "LIST|random", value_parser = ids, conflicts_with = "loads")]
    pub(crate) ids: Option<IdsOption>,
    /// Ranks <1/load, i>, so that the least loaded process has the highest: 50,25,25
    #[arg(long, value_name = "LIST", value_parser = loads)]
    pub(crate) loads: Option<CommaList<NonZeroU32>>,
    /// Processes that start the election or propose a value: all or 2,3 [default: all]
    #[arg(long, value_name = "all|LIST", help_heading = "Workload")]
    pub(crate) initiators: Option<Initiators>,
    /// Processes that have crashed before the start: 5 or 4,5
    #[arg(long, value_name = "LIST", help_heading = "Faults")]
    pub(crate) down: Option<ProcessList>,
    /// Number of critical-section entries or proposals of each process: 2, or one by one 2,1,0
    /// [default: 1]
    #[arg(long, value_name = "K|LIST", value_parser = entries, allow_hyphen_values = true)]
    #[arg(help_heading = "Workload")]
    pub(crate) entries: Option<EntriesOption>,
    /// Delivery order of links [default: the weakest that the card allows]
    #[arg(long, value_enum, help_heading = "Network and time")]
    pub(crate) channel: Option<ChannelOrderOption>,
    /// Network: ring, line, star, complete, binary-tree, grid (or grid:3x4), torus, hypercube,
    /// random:0.3 (connected, from the seed 1; or random:0.3:SEED), edges 1-2,2-3:7, or a file
    /// (edge list, DOT, GraphML). +weights or +weights:SEED draws distinct weights. An algorithm
    /// for graphs uses its edges [default: ring]. Any other one sends over its cheapest paths
    #[arg(long, value_name = "NAME|FILE", value_parser = topologies(), hide_possible_values = true)]
    pub(crate) topology: Option<TopologyOption>,
    /// Tree of a tree algorithm, with P1 as the root: star, path, heap, edges 1-2,2-3, or a file as
    /// for --topology [default: star]
    #[arg(long, value_name = "NAME|FILE", value_parser = trees(), hide_possible_values = true)]
    pub(crate) tree: Option<TreeOption>,
    /// Quorums of a quorum algorithm: pairs, fpp (finite projective plane), grid, majority or tree
    /// [default: grid, but majority for the algorithm `majority`]. Also a list such as 1,2/2,3/1,3,
    /// or a file with one quorum on each line
    #[arg(long, value_name = "NAME|FILE", value_parser = kinds(), hide_possible_values = true)]
    pub(crate) quorums: Option<QuorumsOption>,
    /// Maximum number of holders of a k-mutex [default: 2]
    #[arg(long, value_name = "K", value_parser = parse_positive::<NonZeroU32>)]
    pub(crate) k: Option<NonZeroU32>,
    /// Variants of the algorithm, as `tenure list ALGORITHM` shows them: NAME,NAME
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) variant: Vec<String>,
    /// Set a timeout of the algorithm, in units: answer=5, election=10..20; repeatable. Other
    /// timeouts are derived from the bounds on latency, step and drift. `tenure list ALGORITHM`
    /// shows the names
    #[arg(long, value_name = "NAME=D", help_heading = "Network and time")]
    pub(crate) timeout: Vec<TimeoutOption>,
    /// Timing model [default: the weakest that the card allows]
    #[arg(long, value_enum, help_heading = "Network and time")]
    pub(crate) timing: Option<TimingModelOption>,
    /// Process that coordinates, for algorithms with a fixed coordinator [default: 1]
    #[arg(long, value_name = "P", value_parser = parse_process_number)]
    pub(crate) coordinator: Option<ProcessId>,
    /// Allow runs that exceed the assumptions of the algorithm's card
    #[arg(long)]
    pub(crate) beyond_assumptions: bool,
}

impl GroupOptions {
    pub(crate) fn size(&self) -> Result<u32, Failure> {
        self.size_in(1..=MAX_PROCESSES)
    }

    /// Returns the number of processes that the options determine, or else the default number.
    /// Returns a usage failure if two options contradict each other, or if the number is not in
    /// `supported`, the numbers that the command supports.
    pub(crate) fn size_in(&self, supported: RangeInclusive<u32>) -> Result<u32, Failure> {
        let given = self.given_sizes();
        let first = given.first().copied();
        let size = match (self.n, first) {
            (Some(n), _) => n,
            (None, Some((_, _, listed))) => u32::try_from(listed).unwrap_or(u32::MAX),
            (None, None) => DEFAULT_GROUP_SIZE,
        };
        let other = given.into_iter().find(|(_, _, listed)| *listed != size as usize);
        if let Some((option, items, listed)) = other {
            let against = match (self.n, first) {
                (None, Some((first, _, _))) => format!("the {size} of {first}"),
                _ => format!("-n {size}"),
            };
            return Err(Failure::usage(format!(
                "{option} lists {listed} {items} for {against}: expected one for each process"
            )));
        }
        if !supported.contains(&size) {
            let (least, most) = supported.into_inner();
            return Err(Failure::usage(format!(
                "invalid number of processes {size}: expected {least} to {most}"
            )));
        }
        Ok(size)
    }

    /// Returns the given options whose values contain one item per process, and thus determine the
    /// number of processes. Each tuple contains the name of the option, the plural noun for its
    /// items, such as `ranks`, and the number of items.
    fn given_sizes(&self) -> Vec<(&'static str, &'static str, usize)> {
        let ids = match &self.ids {
            Some(IdsOption::Listed(ids)) => Some(ids.0.len()),
            _ => None,
        };
        let loads = self.loads.as_ref().map(|loads| loads.0.len());
        let length = |size: u32| size as usize;
        let topology = self.topology.as_ref().and_then(TopologyOption::fixed_size).map(length);
        let tree = self.tree.as_ref().and_then(TreeOption::fixed_size).map(length);
        let quorums = self.quorums.as_ref().and_then(QuorumsOption::fixed_size).map(length);
        let sizes = [
            ("--ids", "ranks", ids),
            ("--loads", "loads", loads),
            ("--topology", "vertices", topology),
            ("--tree", "vertices", tree),
            ("--quorums", "members", quorums),
        ];
        let given = sizes.into_iter().filter_map(|(name, items, size)| Some((name, items, size?)));
        given.collect()
    }

    /// Returns the names of the vertices in the file of `--topology`. The slice is empty if the
    /// vertices have only numbers.
    pub(crate) fn vertex_names(&self) -> &[String] {
        self.topology.as_ref().map_or(&[], TopologyOption::vertex_names)
    }

    /// Sets the number of processes to `size` if no option determines this number.
    pub(crate) fn with_default_size(mut self, size: u32) -> Self {
        if self.n.is_none() && self.given_sizes().is_empty() {
            self.n = Some(size);
        }
        self
    }

    /// Returns the parameters of the algorithm, with an upper bound of one unit on the message
    /// delay. The ranks are those that the user has given. If the user has given none, or if each
    /// run draws its ranks at random, they are 1 to n.
    ///
    /// Returns a usage failure if the options contradict each other or name a process outside of
    /// the group. Also returns a usage failure for equal ranks, unless the options contain
    /// `--beyond-assumptions`.
    pub(crate) fn parameters(&self) -> Result<Parameters, Failure> {
        let plain = Parameters::with_defaults(self.size()?);
        self.check_processes(plain.size)?;
        let ranks = match (&self.ids, &self.loads) {
            (Some(IdsOption::Listed(ids)), _) => {
                ids.0.iter().map(|id| Rank::from_id(*id)).collect()
            }
            (_, Some(loads)) => {
                (1..).zip(&loads.0).map(|(id, load)| Rank::from_load(*load, id)).collect()
            }
            _ => plain.ranks,
        };
        if !self.beyond_assumptions {
            check_distinct_ranks(&ranks)?;
        }
        let (quorums, tree) = (self.quorums.as_ref(), self.tree.as_ref());
        let graph = self.topology.as_ref().map(|topology| topology.graph(plain.size));
        Ok(Parameters {
            graph: graph.transpose().map_err(Failure::usage)?,
            ranks,
            absent: self.down_processes().iter().copied().collect(),
            coordinator: self.coordinator.unwrap_or(plain.coordinator),
            quorum_kind: quorums.and_then(QuorumsOption::kind),
            user_quorums: quorums.and_then(QuorumsOption::custom_quorums).cloned(),
            max_processes_inside: self.k.unwrap_or(plain.max_processes_inside),
            tree_shape: tree.and_then(TreeOption::shape).unwrap_or(plain.tree_shape),
            user_tree: tree.and_then(TreeOption::custom_tree).cloned(),
            variants: self.variant.clone(),
            timeouts: self.timeout.iter().map(|it| (it.name.clone(), it.delay)).collect(),
            ..plain
        })
    }

    pub(crate) fn check_timeout_names(&self, card: &Card) -> Result<(), Failure> {
        let known = || card.timeouts.iter().map(|timeout| timeout.name);
        let unknown = self.timeout.iter().find(|option| known().all(|name| name != option.name));
        let Some(TimeoutOption { name, .. }) = unknown else { return Ok(()) };
        let known = known().collect::<Vec<_>>().join(", ");
        let expected = if known.is_empty() { "none, it has no timeouts" } else { &known };
        Err(Failure::usage(format!(
            "invalid timeout '{name}' for {}: expected {expected}",
            card.name
        )))
    }

    pub(crate) fn has_random_ids(&self) -> bool {
        matches!(self.ids, Some(IdsOption::Random))
    }

    /// Returns the initiators of the election; `None` if all processes are initiators.
    pub(crate) fn initiators(&self) -> Option<&[ProcessId]> {
        match &self.initiators {
            Some(Initiators::Listed(listed)) => Some(listed),
            Some(Initiators::All) | None => None,
        }
    }

    pub(crate) fn unused_options(&self, algorithm: &str, service: Service) -> Vec<&'static str> {
        let plain = Parameters { variants: self.variant.clone(), ..Parameters::with_defaults(7) };
        let ignored = |other: Parameters| is_same_config(algorithm, &plain, &other);
        let (tree, other) = (TreeShape::Path, ProcessId(1));
        let quorums = match self.quorums.as_ref().and_then(QuorumsOption::custom_quorums) {
            // Tries a list of quorums. If the configuration of the algorithm stays the same, the
            // algorithm ignores lists of quorums.
            Some(_) => {
                let user_quorums =
                    QuorumSystem::from_kind(QuorumKind::Plane, plain.size).ok().map(Arc::new);
                Parameters { user_quorums, ..plain.clone() }
            }
            None => Parameters { quorum_kind: Some(QuorumKind::Plane), ..plain.clone() },
        };
        let ranks = plain.ranks.iter().rev().copied().collect();
        let elects = service == Service::Election;
        let has_ranks = elects
            || service == Service::MutexAndElection
            || !ignored(Parameters { ranks, ..plain.clone() });
        let three = plain.max_processes_inside.saturating_add(1);
        let begins = elects || service.is_agreement();
        names_where_true([
            ("--ids (apart from the group size)", self.ids.is_some() && !has_ranks),
            ("--loads (apart from the group size)", self.loads.is_some() && !has_ranks),
            ("--initiators", self.initiators.is_some() && !begins),
            ("--entries", self.entries.is_some() && elects),
            (
                "--tree",
                self.tree.is_some() && ignored(Parameters { tree_shape: tree, ..plain.clone() }),
            ),
            ("--quorums", self.quorums.is_some() && ignored(quorums)),
            (
                "--k",
                self.k.is_some()
                    && ignored(Parameters { max_processes_inside: three, ..plain.clone() }),
            ),
            (
                "--coordinator",
                self.coordinator.is_some()
                    && ignored(Parameters { coordinator: other, ..plain.clone() }),
            ),
        ])
    }

    /// Returns the processes that have crashed before the start of the run.
    pub(crate) fn down_processes(&self) -> &[ProcessId] {
        self.down.as_ref().map_or(&[], |down| &down.0)
    }

    /// Returns the delivery order of links that the user selected. `None` means that the order on
    /// the [`Card`] applies.
    pub(crate) fn channel_order(&self) -> Option<ChannelOrder> {
        self.channel.map(|channel| match channel {
            ChannelOrderOption::Fifo => ChannelOrder::Fifo,
            ChannelOrderOption::Reordered => ChannelOrder::Reordered,
        })
    }

    /// Returns the timing model that the user selected. `None` means that the timing model on the
    /// [`Card`] applies.
    pub(crate) fn timing(&self) -> Option<Timing> {
        self.timing.map(|timing| match timing {
            TimingModelOption::Asynchronous => Timing::Asynchronous,
            TimingModelOption::Partial => Timing::Partial,
            TimingModelOption::Synchronous => Timing::Synchronous,
            TimingModelOption::Rounds => Timing::Rounds,
        })
    }

    pub(crate) fn algorithm_options(&self) -> String {
        self.options_with(
            TopologyOption::shell_word,
            TreeOption::shell_word,
            QuorumsOption::shell_word,
        )
    }

    /// Formats the options that configure the algorithm, for the header of a trace. If an option
    /// names a file, the text has the contents of the file in place of the name.
    pub(crate) fn inlined_algorithm_options(&self) -> String {
        self.options_with(TopologyOption::inlined, TreeOption::inlined, QuorumsOption::inlined)
    }

    fn options_with(
        &self,
        topology: impl Fn(&TopologyOption) -> String,
        tree: impl Fn(&TreeOption) -> String,
        quorums: impl Fn(&QuorumsOption) -> String,
    ) -> String {
        let variants = (!self.variant.is_empty()).then(|| self.variant.join(","));
        let given = [
            ("coordinator", self.coordinator.map(|it| it.display_number().to_string())),
            ("topology", self.topology.as_ref().map(topology)),
            ("tree", self.tree.as_ref().map(tree)),
            ("quorums", self.quorums.as_ref().map(quorums)),
            ("k", self.k.map(|most| most.to_string())),
            ("variant", variants),
        ];
        let timeouts = self.timeout.iter().map(|it| ("timeout", Some(it.to_string())));
        let given = given.into_iter().chain(timeouts);
        given.filter_map(|(name, value)| Some(format!(" --{name} {}", value?))).collect()
    }

    pub(crate) fn trace_header_words(&self) -> Result<Vec<String>, Failure> {
        let mut words = vec!["-n".to_owned(), self.size()?.to_string()];
        let mut list = |name: &str, list: Vec<String>| {
            words.extend([name.to_owned(), list.join(",")]);
        };
        if let Some(IdsOption::Listed(ids)) = &self.ids {
            list("--ids", ids.0.iter().map(u32::to_string).collect());
        }
        if let Some(loads) = &self.loads {
            list("--loads", loads.0.iter().map(NonZeroU32::to_string).collect());
        }
        if !self.down_processes().is_empty() {
            list(
                "--down",
                self.down_processes()
                    .iter()
                    .map(|down| down.display_number().to_string())
                    .collect(),
            );
        }
        if check_distinct_ranks(&self.parameters()?.ranks).is_err() {
            words.push("--beyond-assumptions".to_owned());
        }
        words.extend(self.inlined_algorithm_options().split_whitespace().map(str::to_owned));
        Ok(words)
    }

    fn check_processes(&self, size: u32) -> Result<(), Failure> {
        let initiators = self.initiators().unwrap_or(&[]);
        let named = [
            ("--initiators", initiators),
            ("--down", self.down_processes()),
            ("--coordinator", self.coordinator.as_slice()),
        ];
        for (option, processes) in named {
            if let Some(unknown) = processes.iter().find(|process| process.0 >= size) {
                let description =
                    format!("{option} names {unknown}, but the group is P1 to P{size}");
                return Err(Failure::usage(description));
            }
        }
        match &self.entries {
            Some(EntriesOption::Of(EntriesPerProcess::Listed(listed)))
                if listed.len() > size as usize =>
            {
                let listed = listed.len();
                Err(Failure::usage(format!(
                    "--entries lists {listed} numbers for {size} processes: expected at most one \
                     each"
                )))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommaList<T>(pub(crate) Vec<T>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdsOption {
    /// Ranks that the user lists in ring order.
    Listed(CommaList<u32>),
    /// Each run draws a random permutation of 1 to n.
    Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntriesOption {
    /// Number of requests per process. Either all processes have the same number, or the user lists
    /// a number for each process.
    Of(EntriesPerProcess),
    /// No bound on the number of requests. Only the checker accepts this value.
    Unbounded,
}

/// Order in which a link delivers its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChannelOrderOption {
    /// First in, first out
    Fifo,
    /// In any order
    Reordered,
}

/// Timing model of a run: the bounds on delays and clocks that hold in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimingModelOption {
    /// No bounds: every message arrives eventually
    Asynchronous,
    /// Known bounds on message delay, step time and clock drift
    Synchronous,
    /// Bounds that hold from some unknown time on
    Partial,
    /// All processes step together: each message takes one round, and a process that crashes while
    /// it sends reaches any subset of the receivers
    Rounds,
}

fn numbers<T: std::str::FromStr>(text: &str, wanted: &str) -> Result<Vec<T>, String> {
    let number =
        |part: &str| part.parse().map_err(|_| format!("expected {wanted}, found '{part}'"));
    text.split(',').map(number).collect()
}

fn ids(text: &str) -> Result<IdsOption, String> {
    if text == "random" {
        return Ok(IdsOption::Random);
    }
    numbers(text, "a rank for each process, such as 8,1,5")
        .map(|ids| IdsOption::Listed(CommaList(ids)))
}

pub(crate) fn is_same_config(algorithm: &str, one: &Parameters, other: &Parameters) -> bool {
    let config = |parameters: &Parameters| {
        let algorithm = tenure_instances::algorithm(algorithm, parameters).ok()?;
        Some(algorithm.describe_configuration())
    };
    let first = config(one);
    first.is_some() && config(other) == first
}

pub(crate) fn names_where_true(
    options: impl IntoIterator<Item = (&'static str, bool)>,
) -> Vec<&'static str> {
    options.into_iter().filter(|(_, is_selected)| *is_selected).map(|(option, _)| option).collect()
}

/// Parses a number of processes. Does not check whether the number is within the range, because
/// `GroupOptions::size` checks this.
pub(crate) fn parse_size(text: &str) -> Result<u32, String> {
    match text.parse::<i128>() {
        Ok(number) if number < 0 => Err("expected at least 1".to_owned()),
        _ => text.parse().map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

fn loads(text: &str) -> Result<CommaList<NonZeroU32>, String> {
    numbers(text, "a load of 1 or more for each process, such as 50,25,25").map(CommaList)
}

fn entries(text: &str) -> Result<EntriesOption, SettingsError> {
    if text == "unbounded" {
        return Ok(EntriesOption::Unbounded);
    }
    text.parse().map(EntriesOption::Of)
}

pub(crate) fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    threads.ok_or_else(|| format!("expected 1 to {MAX_THREADS}"))
}

pub(crate) fn parse_positive<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::Zero => "expected at least 1".to_owned(),
        _ if text.starts_with('-') => "expected at least 1".to_owned(),
        _ => error.to_string(),
    })
}

fn topologies() -> NameParser<TopologyOption> {
    NameParser::new(|| TOPOLOGIES.to_vec(), str::parse)
}

fn trees() -> NameParser<TreeOption> {
    NameParser::new(|| TREE_SHAPES.iter().map(|(name, _)| *name).collect(), str::parse)
}

fn kinds() -> NameParser<QuorumsOption> {
    NameParser::new(|| QUORUM_KINDS.iter().map(|(name, _)| *name).collect(), str::parse)
}

/// Returns an error if two ranks are equal, because ranks decide elections.
pub(crate) fn check_distinct_ranks(ranks: &[Rank]) -> Result<(), Failure> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let remedy = "change one or add --beyond-assumptions";
            Err(Failure::usage(format!("rank {} is given twice: {remedy}", pair[0])))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::parse_options;

    fn group(line: &str) -> GroupOptions {
        parse_options(line.split_whitespace()).expect("a valid command line")
    }

    fn error_of(line: &str) -> String {
        group(line).parameters().expect_err("an invalid group").to_string()
    }

    #[test]
    fn list_length_sets_group_size() {
        assert_eq!(group("").size().unwrap(), 5);
        assert_eq!(group("--ids 8,1,5").size().unwrap(), 3);
        assert_eq!(group("--loads 50,25").size().unwrap(), 2);
        assert_eq!(group("--ids random -n 7").size().unwrap(), 7);
        assert!(error_of("--ids 8,1,5 -n 4").contains("lists 3 ranks for -n 4"));
    }

    #[test]
    fn least_loaded_process_has_highest_rank() {
        let ranks = group("--loads 50,25,25").parameters().unwrap().ranks;
        assert_eq!(ranks.iter().max().map(|rank| rank.id), Some(3));
    }

    #[test]
    fn rejects_invalid_groups() {
        assert!(error_of("-n 0").contains("expected 1 to"));
        assert!(error_of("--ids 3,1,3").contains("rank 3 is given twice"));
        assert!(error_of("-n 3 --down 4").contains("--down names P4"));
        assert!(error_of("-n 3 --initiators 1,9").contains("--initiators names P9"));
        assert!(error_of("-n 3 --coordinator 4").contains("--coordinator names P4"));
        assert!(error_of("-n 2 --entries 1,1,1").contains("at most one each"));
    }

    #[test]
    fn algorithm_options_round_trip() {
        let line = " --coordinator 2 --topology grid:2x3 --tree heap --quorums fpp --k 3 \
                    --variant one,two --timeout answer=2.5 --timeout election=10..20";
        assert_eq!(group(line).algorithm_options(), line);
    }

    #[test]
    fn rejects_timeout_without_name_or_fixed_length() {
        for text in ["answer", "=5", "answer=", "answer=0", "answer=exp:5", "answer=5..1"] {
            assert!(text.parse::<TimeoutOption>().is_err(), "{text}");
        }
        let card = tenure_instances::card("bully", &Parameters::with_defaults(3)).unwrap();
        let message =
            group("--timeout answr=5").check_timeout_names(&card).unwrap_err().to_string();
        assert_eq!(message, "invalid timeout 'answr' for bully: expected answer, coordinator");
        assert!(group("--timeout answer=5").check_timeout_names(&card).is_ok());
    }
}
