//! `tenure trace diagram --logs`: draws the replicated logs of all processes, each as a row of
//! boxes.

use std::path::PathBuf;

use tenure_trace::diagram::{ReplicatedLogDiagram, ReplicatedLogMoment};

use super::diagram::DiagramFormat;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{is_coloured, print_unwrapped};

/// Upper bound on the number of log entries in a row of an SVG. A longer log shows only its last
/// entries.
const MAX_ENTRIES_IN_SVG: u64 = 24;

pub(super) fn print_log_diagram(
    files: &[PathBuf],
    form: DiagramFormat,
    moments: &[ReplicatedLogMoment],
    columns: usize,
) -> Result<Status, Failure> {
    if form == DiagramFormat::Html {
        let message = "--logs does not apply to --as html: leave it out; the page shows logs if \
                       the trace has any";
        return Err(Failure::usage(message));
    }
    let picture = ReplicatedLogDiagram::from_files(files, moments).map_err(Failure::usage)?;
    if picture.is_empty() {
        return Err(Failure::usage("no process has a log entry at this time of the trace"));
    }
    print_unwrapped(&match form {
        DiagramFormat::Svg => picture.to_svg(MAX_ENTRIES_IN_SVG),
        _ => picture.to_text(columns, is_coloured()),
    })?;
    Ok(Status::Success)
}
