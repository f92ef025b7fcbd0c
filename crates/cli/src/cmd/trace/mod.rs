//! `tenure trace`.

mod diagram;
mod diff;
mod export;
mod logs;
mod page;
pub(crate) mod replay;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tenure_core::ProcessId;
use tenure_trace::{
    Judgement, Kind, MOST_PROCESSES, MergeError, Merged, ReadError, ReadLimits, Record, Show,
    Trace, Verification, Who, merge_files, merge_whole_files, plain, verify_files,
};

use super::failure::{Failure, Status};
use super::output::{Format, print, print_json};
use super::program;
use super::size::size;

/// Judge, show or draw traces, whoever wrote them: simulator, checker or real nodes
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// Read lines of up to so many bytes, as 64M; a longer one is taken for damage
    #[arg(long, global = true, value_name = "M", value_parser = size, default_value = "16M")]
    longest_line: u64,
    /// Read traces of groups of up to so many; each takes memory, whatever it did
    #[arg(long, global = true, value_name = "N", default_value_t = MOST_PROCESSES)]
    most_processes: u32,
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

/// Judge the traces of one run, merged, by the monitors that judge a simulation
#[derive(Debug, Args)]
struct VerifyOptions {
    /// The traces of all processes of the run, and those of its parent and its resource
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Tell traces as a story, a line per event
#[derive(Debug, Args)]
struct ShowOptions {
    /// The traces of one run; several are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only what happened to these processes
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = process)]
    process: Vec<Who>,
    /// Only these kinds of events, or messages of these names: event, crash, request …
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// And what each process holds after each step, where the trace has it
    #[arg(long)]
    states: bool,
    /// How to print; JSON is the merged trace, a record a line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Options { longest_line, most_processes, .. } = *options;
    ReadLimits { longest_line, most_processes }.hold_everywhere();
    match &options.command {
        Command::Verify(options) => verify(options),
        Command::Show(options) => show(options),
        Command::Diagram(options) => diagram::run(options),
        Command::Diff(options) => diff::run(options),
        Command::Export(options) => export::run(options),
        Command::Import(options) => export::import(options),
        Command::Replay(options) => replay::run(options),
    }
}

fn verify(options: &VerifyOptions) -> Result<Status, Failure> {
    let verification: Verification = verify_files(&options.files).map_err(of_input)?;
    match options.format {
        Format::Json => print_json(&verification)?,
        Format::Text => print(&verification.to_string())?,
    }
    let violated = verification.verdict == Judgement::Violated;
    Ok(if violated { Status::Violated } else { Status::Held })
}

fn show(options: &ShowOptions) -> Result<Status, Failure> {
    let json = options.format == Format::Json;
    let states = options.states || json || options.kind.iter().any(|kind| kind == "state");
    let merge = if states { merge_whole_files } else { merge_files };
    let merged = merge(&options.files).map_err(of_input)?;
    report_torn(&merged.torn, &merged.empty);
    let mut show = Show::new(&merged.header);
    show.states = options.states || (json && options.kind.is_empty());
    show.processes.clone_from(&options.process);
    show.kinds.clone_from(&options.kind);
    let shows = |who: &[Who], kind: &[String]| {
        let mut show = Show::new(&merged.header);
        (show.processes, show.kinds) = (who.to_vec(), kind.to_vec());
        show.states = kind.is_empty();
        merged.records.iter().any(|record| show.line(record).is_some())
    };
    for who in options.process.iter().filter(|who| !shows(&[**who], &[])) {
        is_there(*who, merged.header.n)?;
        nothing_of(&who.to_string());
    }
    for kind in options.kind.iter().filter(|kind| !shows(&[], &[(*kind).clone()])) {
        is_a_kind(kind, &merged)?;
        nothing_of(&format!("the kind {kind}"));
    }
    let mut text = String::new();
    for record in &merged.records {
        let Some(line) = show.line(record) else { continue };
        let line = match options.format {
            Format::Text => line,
            Format::Json => serde_json::to_string(record).unwrap_or_default(),
        };
        writeln!(text, "{line}").expect("a string takes everything");
        if text.len() > 1 << 16 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    Ok(Status::Held)
}

/// Reports, on standard error, files whose last line was cut off and files without a header. Both
/// happen when a writer is killed, and are no errors.
pub(crate) fn report_torn(torn: &[PathBuf], empty: &[PathBuf]) {
    let name = program::name();
    let left_out = torn.iter().map(|path| (path, "the last line is torn (its writer was killed)"));
    let empty = empty.iter().map(|path| (path, "the file has no whole header"));
    for (path, says) in left_out.chain(empty) {
        let path = path.display().to_string();
        eprintln!("{name}: {}: {says} and was left out", plain(&path));
    }
}

/// The same where a file is read by something that does not say so.
pub(crate) fn report_torn_files(paths: &[PathBuf]) {
    let is_torn = |path: &&PathBuf| {
        // Only a file that does not end with a line feed is read twice.
        let ends = std::fs::File::open(path).and_then(|mut file| {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last).map(|()| last == *b"\n")
        });
        matches!(ends, Ok(false)) && Trace::read(path).is_ok_and(|trace| trace.torn.is_some())
    };
    let torn: Vec<PathBuf> = paths.iter().filter(is_torn).cloned().collect();
    report_torn(&torn, &[]);
}

/// Refuses a process that a group of `n` does not have.
fn is_there(who: Who, n: u32) -> Result<(), Failure> {
    match who {
        Who::Process(process) if process.0 >= n => Err(Failure::usage(format!(
            "--process {who}: the processes of this trace are P1 to P{n}"
        ))),
        _ => Ok(()),
    }
}

/// Refuses what is neither a kind of events nor a message of this trace.
fn is_a_kind(kind: &str, merged: &Merged) -> Result<(), Failure> {
    if Kind::NAMES.contains(&kind) {
        return Ok(());
    }
    let of = |record: &'_ Record| -> Vec<String> {
        let message = record.kind.passage().map(|passage| passage.message.to_string());
        message.into_iter().chain([record.kind.name().to_owned()]).collect()
    };
    let there_are: BTreeSet<String> = merged.records.iter().flat_map(of).collect();
    let there_are = there_are.into_iter().collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!("--kind {kind}: this trace has no such kind; it has {there_are}")))
}

/// A choice that hides everything, for nothing of it has happened.
fn nothing_of(asked: &str) {
    eprintln!("{}: this trace has nothing of {asked}", program::name());
}

fn process(text: &str) -> Result<Who, String> {
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(Who::Process(ProcessId(number - 1))),
        _ if text == "resource" => Ok(Who::Resource),
        _ if text == "parent" => Ok(Who::Parent),
        _ => Err(format!("`{text}` is nobody; write a number from 1, resource or parent")),
    }
}

/// A file that is no trace is bad input; one that the system does not give us is, too.
pub(crate) fn of_input(error: MergeError) -> Failure {
    match error {
        MergeError::Read(ReadError::Io { path, error })
            if error.kind() != std::io::ErrorKind::NotFound =>
        {
            Failure::environment(format!("cannot read {}: {error}", path.display()))
        }
        error => Failure::usage(error),
    }
}
