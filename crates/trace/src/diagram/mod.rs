//! Space–time diagrams of any trace: in text, as SVG, and as a page to step through.
//!
//! [`Reading`] takes records one by one and keeps what lies in its window; the [`Layout`] that it
//! leaves says who did what where, and every picture is drawn from it.
//!
//! The unit of a picture is the **step**: what a process was given (a command, a message, a
//! timer) and everything that it did at once. So a message leaves from the step that sent it,
//! and clocks count steps.

mod columns;
mod crime;
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

pub use crime::Crime;
pub use html::{ELEMENTS, PALETTE, Page};
pub use layout::{Crossing, Fate, Hold, Layout, Mark, Region, Span, Step};
pub use logs::{LogPicture, Moment};
pub use reading::Reading;
pub use view::{Clock, Direction, Margin, Scale, View, Window};

use std::path::Path;

use crate::format::{Header, Reader, Record};
use crate::merge::{MergeError, Merged, merge_files, merge_whole_files};

/// Lays out these records of one run.
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

/// How many processes there is room for: a drawing has a line for each, and some hold a clock of
/// all at each step.
pub const MOST_DRAWN: u32 = 1024;

/// Whether there is room for the group of a trace in a drawing.
///
/// # Errors
///
/// [`MergeError::TooWide`].
pub fn fits(header: &Header) -> Result<(), MergeError> {
    let n = header.n;
    if n > MOST_DRAWN { Err(MergeError::TooWide { n }) } else { Ok(()) }
}

/// Lays out the files at `paths`, traces of one run: one alone as it is read, however long;
/// several merged.
///
/// # Errors
///
/// [`MergeError`] when they cannot be read or merged; the files are only read.
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
