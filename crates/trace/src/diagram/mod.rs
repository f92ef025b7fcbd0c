//! Space-time diagrams of traces: as text, as SVG, and as an interactive page.
//!
//! [`Reading`] consumes records one by one and keeps those in its window. It produces a [`Layout`],
//! from which all pictures are drawn.
//!
//! The unit of a picture is the **step**: the input of a process (a command, a message, a timer)
//! and all its immediate effects. A message therefore leaves from the step that sent it, and clocks
//! count steps.

mod columns;
mod events;
mod html;
mod labels;
mod layout;
mod logs;
mod reading;
mod spans;
mod svg;
mod text;
mod view;
mod violations;

pub use html::{ELEMENTS, PALETTE, Page};
pub use layout::{Condition, Crossing, Layout, Mark, MessageOutcome, Region, Span, Step};
pub use logs::{LogPicture, Moment};
pub use reading::Reading;
pub use view::{Clock, Direction, Margin, Scale, View, Window};
pub use violations::ViolationMark;

use std::path::Path;

use crate::format::{Header, Reader, Record};
use crate::merge::{MergeError, Merged, merge_files, merge_whole_files};

/// Lays out the records of one run.
pub fn lay_out<'r>(
    header: &Header,
    records: impl IntoIterator<Item = &'r Record>,
    view: View,
) -> Layout {
    let mut reading = Reading::new(header, view);
    for record in records {
        reading.read(record);
    }
    reading.finish()
}

/// Maximum number of processes in a drawing. A drawing has a lifeline for each process, and may
/// store a vector clock for each step.
pub const MAX_DRAWN_PROCESSES: u32 = 1024;

/// Checks that the group of a trace is small enough for a drawing.
///
/// # Errors
///
/// Returns [`MergeError::TooWide`] if it is not.
pub fn fits(header: &Header) -> Result<(), MergeError> {
    let n = header.n;
    if n > MAX_DRAWN_PROCESSES { Err(MergeError::TooWide { n }) } else { Ok(()) }
}

/// Lays out the files at `paths`, which are traces of one run. Reads a single file record by
/// record, so it may have any length. Merges several files.
///
/// # Errors
///
/// Returns [`MergeError`] if the files cannot be read or merged.
pub fn lay_out_files<P: AsRef<Path>>(paths: &[P], view: View) -> Result<Layout, MergeError> {
    let contents = !view.fields.is_empty();
    let [path] = paths else {
        let Merged { header, records, .. } =
            if contents { merge_whole_files(paths)? } else { merge_files(paths)? };
        fits(&header)?;
        return Ok(lay_out(&header, &records, view));
    };
    let reader = Reader::open(path)?;
    let mut reader = if contents { reader } else { reader.skipping_contents() };
    fits(reader.header())?;
    let mut reading = Reading::new(reader.header(), view);
    for record in reader.by_ref() {
        reading.read(&record?);
    }
    Ok(reading.finish())
}
