//! `tenure trace`: works with recorded runs.

mod diagram;
mod diff;
mod export;
mod logs;
mod page;
pub(crate) mod replay;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tenure_core::ProcessId;
use tenure_trace::property::{PropertyJudge, order_by_step};
use tenure_trace::{
    DEFAULT_MAX_PROCESSES, Judgement, MergedTrace, ReadError, ReadLimits, Record, RecordFormatter,
    RecordKind, RecordSubject, Service, Trace, Verification, escape_invisible, files, merge_files,
    merge_files_for_verification, verify, verify_files,
};

use super::capture::print_stderr_line;
use super::custom_monitors;
use super::custom_property::CustomPropertyOptions;
use super::failure::{Failure, Status};
use super::output::{Format, print, print_json_text};
use super::program;
use super::size::parse_byte_size;

/// Verify, show, draw or convert traces of the simulator, the checker or real nodes
///
/// A trace is a file of JSON lines. `tenure check`, `simulate` and `run` write traces. The format
/// is in docs/trace.md. Exit status 2: a file cannot be read or is no trace.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure trace verify run/*.ndjson
  tenure trace diagram run.ndjson --as svg > run.svg
  tenure trace replay found.ndjson --over tcp")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// Maximum length of a line, such as 64M; a longer line counts as damage
    #[arg(
        long = "longest-line",
        global = true,
        value_name = "M",
        value_parser = parse_byte_size,
        default_value = "16M"
    )]
    max_line_bytes: u64,
    /// Maximum group size; each process takes memory, even without events
    #[arg(
        long = "most-processes",
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        default_value_t = DEFAULT_MAX_PROCESSES
    )]
    max_processes: u32,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(VerifyOptions),
    Show(ShowOptions),
    Diagram(diagram::Options),
    Diff(diff::Options),
    Export(export::Options),
    Import(export::ImportOptions),
    Replay(replay::Options),
}

/// Merge the traces of one run and check its properties
///
/// Exit status 1: a property is violated; 2: a file cannot be read or is no trace.
#[derive(Debug, Args)]
struct VerifyOptions {
    /// Traces of all processes of the run, and those of its parent and its resource
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    custom: CustomPropertyOptions,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Print the events of a run, one per line
#[derive(Debug, Args)]
struct ShowOptions {
    /// Traces of one run; several files are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only events of these processes: numbers from 1, `resource` or `parent`
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_process)]
    process: Vec<RecordSubject>,
    /// Only events of these kinds, or messages of these names: event, crash, request …
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// Also print the state of each process after each step, if the trace has it
    #[arg(long)]
    states: bool,
    /// Output format; JSON is the merged trace, one record per line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Options { max_line_bytes, max_processes, .. } = *options;
    ReadLimits { max_line_bytes, max_processes }.set_for_program();
    match &options.command {
        Command::Verify(options) => verify_traces(options),
        Command::Show(options) => show(options),
        Command::Diagram(options) => diagram::run(options),
        Command::Diff(options) => diff::run(options),
        Command::Export(options) => export::run(options),
        Command::Import(options) => export::import(options),
        Command::Replay(options) => replay::run(options),
    }
}

fn verify_traces(options: &VerifyOptions) -> Result<Status, Failure> {
    let has_monitors =
        tenure_instances::custom_properties(Service::MutexAndElection).next().is_some();
    let verification: Verification = if options.custom.is_empty() && !has_monitors {
        verify_files(&options.files).map_err(Failure::usage)?
    } else {
        verify_own(options)?
    };
    options.format.print(&verification, || verification.to_string())?;
    let violated = verification.verdict == Judgement::Violated;
    Ok(if violated { Status::Violated } else { Status::Success })
}

fn verify_own(options: &VerifyOptions) -> Result<Verification, Failure> {
    let merged = merge_files(&options.files).map_err(Failure::usage)?;
    let header = &merged.header;
    let own = options.custom.parse_for_trace(&merged)?;
    let (records, ended) = merged.records_until_run_end();
    let judge = PropertyJudge::new(&own, header.n, header.service, &[]);
    let mut judge = judge.with_clock_unit(header.clock);
    order_by_step(records, header.clock).iter().for_each(|record| judge.apply_record(record));
    let start = records.first().map_or(0, |record| record.time);
    let mut verification = verify(&merged);
    for finding in judge.finish(ended) {
        verification.add_finding(finding, start);
    }
    custom_monitors::add_custom_findings(&merged, ended, &mut verification);
    Ok(verification)
}

fn show(options: &ShowOptions) -> Result<Status, Failure> {
    let json = options.format == Format::Json;
    let states = options.states || json || options.kind.iter().any(|kind| kind == "state");
    let merge = if states { merge_files } else { merge_files_for_verification };
    let merged = merge(&options.files).map_err(Failure::usage)?;
    warn_torn_or_empty(&merged.torn, &merged.empty);
    let mut show = RecordFormatter::new(&merged.header);
    show.shows_states = options.states || (json && options.kind.is_empty());
    show.subjects.clone_from(&options.process);
    show.kind_or_message_names.clone_from(&options.kind);
    let shows = |subject: &[RecordSubject], kind: &[String]| {
        let mut show = RecordFormatter::new(&merged.header);
        (show.subjects, show.kind_or_message_names) = (subject.to_vec(), kind.to_vec());
        show.shows_states = kind.is_empty();
        merged.records.iter().any(|record| show.format_line(record).is_some())
    };
    for subject in options.process.iter().filter(|subject| !shows(&[**subject], &[])) {
        check_process(*subject, merged.header.n)?;
        warn_no_events(&subject.to_string());
    }
    for kind in options.kind.iter().filter(|kind| !shows(&[], &[(*kind).clone()])) {
        check_kind(kind, &merged)?;
        warn_no_events(&format!("the kind {kind}"));
    }
    let print = if json { print_json_text } else { print };
    let mut text = String::new();
    for record in &merged.records {
        let Some(line) = show.format_line(record) else { continue };
        let line = match options.format {
            Format::Text => line,
            Format::Json => serde_json::to_string(record).expect("records can be serialized"),
        };
        writeln!(text, "{line}").expect("writing to a string succeeds");
        if text.len() > 1 << 16 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    Ok(Status::Success)
}

/// Warns the user about trace files whose last line is torn or whose header is incomplete. These
/// defects are not errors, because they occur when the writer of a trace is killed.
pub(crate) fn warn_torn_or_empty(torn: &[PathBuf], empty: &[PathBuf]) {
    let name = program::name();
    let left_out = torn.iter().map(|path| (path, "the last line is torn (its writer was killed)"));
    let empty = empty.iter().map(|path| (path, "the header is incomplete"));
    for (path, description) in left_out.chain(empty) {
        let path = path.display().to_string();
        print_stderr_line(&format!(
            "{name}: {}: {description} and was left out",
            escape_invisible(&path)
        ));
    }
}

/// Warns the user about each file whose last line is torn or whose header is incomplete. Does not
/// warn if the header of every file is incomplete, because the command then fails.
pub(crate) fn find_and_warn_torn_or_empty(paths: &[PathBuf]) {
    let (mut torn, mut empty) = (Vec::new(), Vec::new());
    for path in paths.iter().filter(|path| lacks_final_line_feed(path).unwrap_or(false)) {
        match Trace::read(path) {
            Ok(trace) => torn.extend(trace.torn),
            Err(ReadError::Empty { path }) => empty.push(path),
            Err(_) => {}
        }
    }
    if empty.len() < paths.len() {
        warn_torn_or_empty(&torn, &empty);
    }
}

/// Returns true if the file does not end with a line feed. Returns false for a pipe, which cannot
/// be read twice.
fn lacks_final_line_feed(path: &Path) -> io::Result<bool> {
    if !files::keeps_files_in_memory() && !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut file = files::open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn check_process(subject: RecordSubject, n: u32) -> Result<(), Failure> {
    match subject {
        RecordSubject::Process(process) if process.0 >= n => Err(Failure::usage(format!(
            "unknown process {subject} for --process: expected P1 to P{n}"
        ))),
        _ => Ok(()),
    }
}

fn check_kind(kind: &str, merged: &MergedTrace) -> Result<(), Failure> {
    if RecordKind::NAMES.contains(&kind) {
        return Ok(());
    }
    let of = |record: &'_ Record| -> Vec<String> {
        let message =
            record.kind.message_record().map(|message_record| message_record.message.to_string());
        message.into_iter().chain([record.kind.name().to_owned()]).collect()
    };
    let kinds: BTreeSet<String> = merged.records.iter().flat_map(of).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!("unknown kind '{kind}' for --kind: expected {kinds}")))
}

fn warn_no_events(filter: &str) {
    print_stderr_line(&format!("{}: this trace has no events of {filter}", program::name()));
}

fn parse_process(text: &str) -> Result<RecordSubject, String> {
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(RecordSubject::Process(ProcessId(number - 1))),
        _ if text == "resource" => Ok(RecordSubject::Resource),
        _ if text == "parent" => Ok(RecordSubject::Parent),
        _ => Err("expected a number from 1, resource or parent".to_owned()),
    }
}
