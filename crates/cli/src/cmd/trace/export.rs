//! `tenure trace export` and `import`: converts traces for other tools, and back.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenure_trace::diagram::check_drawable_size;
use tenure_trace::export::{from_shiviz, to_mermaid, to_otel, to_shiviz};
use tenure_trace::{MergedTrace, files, merge_files};

use super::warn_torn_or_empty;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{print_json_text, print_unwrapped};

/// Convert the traces of one run for another tool
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Traces of one run; several files are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long = "as", value_enum)]
    form: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// ShiViz: a log with a vector clock for each event, and its parser expression
    Shiviz,
    /// Mermaid: a sequence diagram
    Mermaid,
    /// OpenTelemetry: spans as OTLP in JSON, with critical sections as spans and messages as links
    Otel,
}

/// Convert a log of `export` back to the trace
#[derive(Debug, Args)]
pub(super) struct ImportOptions {
    /// Log file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the log
    #[arg(long, value_enum)]
    from: Source,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Source {
    /// ShiViz
    Shiviz,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let MergedTrace { header, records, torn, empty, .. } =
        merge_files(&options.files).map_err(Failure::usage)?;
    warn_torn_or_empty(&torn, &empty);
    if matches!(options.form, Form::Shiviz | Form::Mermaid) {
        check_drawable_size(&header).map_err(Failure::usage)?;
    }
    match options.form {
        Form::Shiviz => print_unwrapped(&to_shiviz(&header, &records))?,
        Form::Mermaid => print_unwrapped(&to_mermaid(&header, &records))?,
        Form::Otel => print_json_text(&to_otel(&header, &records))?,
    }
    Ok(Status::Success)
}

pub(super) fn import(options: &ImportOptions) -> Result<Status, Failure> {
    let Source::Shiviz = options.from;
    let path = options.file.display();
    let log = files::open(&options.file)
        .and_then(std::io::read_to_string)
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    let trace = from_shiviz(&log).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let mut text = String::new();
    let line = |result: serde_json::Result<String>| result.expect("records can be serialized");
    let header = line(serde_json::to_string(&trace.header));
    writeln!(text, "{header}").expect("writing to a string succeeds");
    for record in &trace.records {
        writeln!(text, "{}", line(serde_json::to_string(record)))
            .expect("writing to a string succeeds");
    }
    print_unwrapped(&text)?;
    Ok(Status::Success)
}
