//! `tenure lab`: a simulator that the user controls step by step in a browser.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod server;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{Args, Command};
use serde_json::{Value, json};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Card;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::RootedTree;
use tenure_instances::TraceHeaderFields;
use tenure_lab::{NodeLayout, RunSource, RunSpec};
use tenure_sim::{Intervention, Settings};
use tenure_trace::{Schedule, Trace};

use super::failure::Failure;
use super::graph;
use super::parse_options;
use super::program::quote_shell_word;
use super::simulate;
use super::trace::replay;
use super::usage_error;

/// Options of `tenure lab` itself. A command line may contain them before the name of the
/// algorithm, or after it among the options of `tenure simulate`.
#[derive(Debug, Default, Args)]
struct LabOptions {
    /// Port [default: any free port]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Address to listen on [default: 127.0.0.1]; beyond loopback, the printed URL has a token that
    /// is required for access
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Start with a recorded run, such as a counterexample of `tenure check --trace`
    #[arg(long, value_name = "FILE")]
    open: Option<PathBuf>,
}

impl LabOptions {
    fn is_lab_option(word: &str) -> bool {
        let name = word.split('=').next().and_then(|word| word.strip_prefix("--"));
        let command = LabOptions::augment_args(Command::new("lab"));
        name.is_some() && command.get_arguments().any(|it| it.get_long() == name)
    }
}

pub(super) struct RunFactory;

impl RunSource for RunFactory {
    fn algorithms(&self) -> Value {
        let cards = tenure_instances::algorithm_names().filter_map(|name| {
            let card = tenure_instances::card(name, &Parameters::with_defaults(5)).ok()?;
            Some((name, card))
        });
        cards.map(|(name, card)| algorithm_entry(name, &card)).collect()
    }

    fn spec_from_args(&self, words: &[String]) -> Result<RunSpec, String> {
        run_from_words(words, WordsFrom::Page)
    }

    fn spec_from_trace(&self, trace: &Trace) -> Result<RunSpec, String> {
        run_along_trace(trace)
    }
}

/// Upper bound on the length of a word on the command line of a run. The edges of any graph that
/// the lab shows fit into this length. The bound limits the time to find similar names for an error
/// message.
const MAX_WORD_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordsFrom {
    /// The arguments come from the command line of `tenure lab`. Options that name files are
    /// permitted.
    Terminal,
    /// The arguments come from the page in the browser. The user of the page may be on another
    /// machine, and must not read files of this machine.
    Page,
}

fn run_from_words(words: &[String], from: WordsFrom) -> Result<RunSpec, String> {
    if let Some(own) = words.iter().find(|word| LabOptions::is_lab_option(word)) {
        return Err(format!(
            "{own} is an option of the lab, which is running already: leave it out"
        ));
    }
    if from == WordsFrom::Page
        && let Some(option) = graph::option_naming_file(words)
    {
        return Err(format!(
            "{option} reads a file only when the lab starts: give edges such as 1-2,2-3"
        ));
    }
    if let Some(long) = words.iter().find(|word| word.len() > MAX_WORD_BYTES) {
        let (bytes, begin) = (long.len(), long.chars().take(20).collect::<String>());
        return Err(format!(
            "the word '{begin}…' has {bytes} bytes: the lab accepts words of up to {MAX_WORD_BYTES}"
        ));
    }
    let options: simulate::Options = parse_options(words).map_err(|error| parse_error(&error))?;
    // The time to build a run grows with the size of the group, so this size is checked first.
    tenure_lab::validate_group_size(
        options.run.group.size().map_err(|failure| failure.to_string())?,
    )?;
    let words_given = graph::inline_files(words, &options.run.group);
    let words_given =
        words_given.iter().map(|word| quote_shell_word(word)).collect::<Vec<_>>().join(" ");
    if let Some(message) = simulate::terminal_only_option_error(&options) {
        return Err(message);
    }
    let describe = |failure: Failure| failure.to_string();
    let plan = simulate::build_plan(&options).map_err(describe)?;
    let settings = plan.settings_for_seed(plan.common_settings().seed);
    let intervention_plan = plan.intervention_plan.clone();
    let replay = plan.unsteered_replay_command(&settings);
    let head = TraceHeaderFields { replay: Some(replay.clone()), ..plan.trace_header(&settings) };
    let algorithm = plan.build_algorithm(&settings).map_err(describe)?;
    let engine = algorithm.create_lab_engine(settings.clone(), head, None);
    Ok(RunSpec {
        origin: words_given,
        layout: node_layout(&plan.card, &plan.parameters),
        card: plan.card,
        size: settings.size,
        replay: Some(replay),
        interventions: intervention_plan.interventions,
        steps: intervention_plan.max_steps.unwrap_or(0),
        engine: engine.map_err(|error| error.to_string())?,
    })
}

fn run_along_trace(trace: &Trace) -> Result<RunSpec, String> {
    let header = &trace.header;
    tenure_lab::validate_group_size(header.n)?;
    let parameters =
        replay::parameters_from_header(header).map_err(|failure| failure.to_string())?;
    let schedule = Schedule::from_trace(trace).map_err(|error| error.to_string())?;
    let card = tenure_instances::card(&header.algorithm, &parameters);
    let card = card.map_err(|unknown| unknown.to_string())?;
    let ranks = parameters.ranks.clone();
    // A recorded run may exceed the assumptions of the card.
    let plain = Settings::new(schedule.size);
    let settings = Settings { ranks, beyond_assumptions: true, ..plain };
    let algorithm = tenure_instances::algorithm(&header.algorithm, &parameters);
    let algorithm = algorithm.map_err(|unknown| unknown.to_string())?;
    let engine =
        algorithm.create_lab_engine(settings, TraceHeaderFields::default(), Some(schedule));
    let violated = header.violates.as_ref().map_or("run", |_| "counterexample");
    Ok(RunSpec {
        origin: format!("a recorded {violated} of {}", header.algorithm),
        layout: node_layout(&card, &parameters),
        card,
        size: header.n,
        replay: None,
        interventions: Vec::<Intervention>::new(),
        steps: 0,
        engine: engine.map_err(|error| error.to_string())?,
    })
}

fn node_layout(card: &Card, parameters: &Parameters) -> NodeLayout {
    if let Some(network) = card.graph.as_deref().or(parameters.graph.as_deref()) {
        return NodeLayout::of_graph(network);
    }
    let Parameters { size, coordinator, .. } = *parameters;
    let default = match card.name.rsplit(':').next() {
        Some("maekawa") => Some(QuorumKind::Grid),
        Some("majority") => Some(QuorumKind::Majority),
        _ => None,
    };
    let quorums = default.and_then(|default| parameters.quorums(default).ok());
    let tree = parameters
        .tree()
        .unwrap_or_else(|_| Arc::new(RootedTree::from_shape(parameters.tree_shape, size)));
    NodeLayout::for_algorithm(card, size, coordinator, &tree, quorums.as_deref())
}

/// Formats an error of the command-line parser in one line. Instead of the help text, returns a
/// hint, because the help text is of no use on a page.
fn parse_error(error: &clap::Error) -> String {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            "run `tenure simulate --help` in a terminal for the options".to_owned()
        }
        _ => usage_error::one_line(error),
    }
}

fn algorithm_entry(name: &str, card: &Card) -> Value {
    let variants = card.variants.iter().map(|variant| {
        json!({ "name": variant.name, "sound": variant.sound, "description": variant.description })
    });
    json!({
        "name": name,
        "service": card.service,
        "description": card.title,
        "topology": card.topology,
        "variants": variants.collect::<Vec<_>>(),
    })
}
