//! Space-time diagrams of traces: as text, as SVG, and as an interactive page.
//!
//! [`LayoutBuilder`] consumes records one by one, and keeps those in its window, the part of the
//! trace to show. It produces a [`DiagramLayout`], from which all pictures are drawn.
//!
//! The unit of a picture is the **step**: an input of a process (such as a command, a message or a
//! timer) and all immediate effects of this input. A message therefore leaves from the step that
//! sent it, and clocks count steps.

mod columns;
mod events;
mod html;
mod labels;
mod layout;
mod layout_builder;
mod logs;
mod options;
mod spans;
mod svg;
mod text;
mod violations;

pub use html::{DiagramPage, ELEMENT_HELPERS_JS, PALETTE_CSS};
pub use layout::{
    ConditionSpan, DiagramLayout, DiagramStep, MessageArrow, MessageOutcome, PartitionSpan,
    ProcessCondition, StepCause,
};
pub use layout_builder::LayoutBuilder;
pub use logs::{ReplicatedLogDiagram, ReplicatedLogMoment};
pub use options::{DiagramClock, DiagramOptions, RowLabel, TimeAxis, TimeDirection, TraceWindow};
pub use violations::ViolationMark;

use std::path::Path;

use crate::format::{Header, Reader, Record};
use crate::merge::{MergeError, MergedTrace, merge_files, merge_files_for_verification};

/// Lays out the records of one run.
pub fn lay_out<'r>(
    header: &Header,
    records: impl IntoIterator<Item = &'r Record>,
    options: DiagramOptions,
) -> DiagramLayout {
    let mut builder = LayoutBuilder::new(header, options);
    for record in records {
        builder.add_record(record);
    }
    builder.finish()
}

/// Maximum number of processes in a drawing. A drawing has a lifeline for each process. With vector
/// clocks, it also has one number per process for each step.
pub const MAX_DRAWN_PROCESSES: u32 = 1024;

/// Checks that the group of a trace is small enough for a drawing.
///
/// # Errors
///
/// Returns [`MergeError::GroupTooLarge`] if the group has more than [`MAX_DRAWN_PROCESSES`]
/// processes.
pub fn check_drawable_size(header: &Header) -> Result<(), MergeError> {
    let n = header.n;
    if n > MAX_DRAWN_PROCESSES { Err(MergeError::GroupTooLarge { n }) } else { Ok(()) }
}

/// Lays out the files at `paths`, which are traces of one run. If there is only one path, reads the
/// file record by record, so the file may have any length. If there are several paths, merges the
/// files in memory.
///
/// # Errors
///
/// Returns [`MergeError`] if the files cannot be read or merged, or if the group is too large for a
/// drawing.
pub fn lay_out_files<P: AsRef<Path>>(
    paths: &[P],
    options: DiagramOptions,
) -> Result<DiagramLayout, MergeError> {
    let contents = !options.fields.is_empty();
    let [path] = paths else {
        let MergedTrace { header, records, .. } =
            if contents { merge_files(paths)? } else { merge_files_for_verification(paths)? };
        check_drawable_size(&header)?;
        return Ok(lay_out(&header, &records, options));
    };
    let reader = Reader::open(path)?;
    let mut reader = if contents { reader } else { reader.without_message_contents_and_states() };
    check_drawable_size(reader.header())?;
    let mut builder = LayoutBuilder::new(reader.header(), options);
    for record in reader.by_ref() {
        builder.add_record(&record?);
    }
    Ok(builder.finish())
}
