//! A run as a single HTML file that works without a network or server.
//!
//! The page embeds its data as JSON, with the steps and messages of the
//! [`DiagramLayout`](super::DiagramLayout) in columns. Its scripts draw only the visible part of
//! the run. Styles and scripts are inline.

mod columnar;
mod logs;
mod safe;
mod trace_diff;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tenure_core::Card;

use self::columnar::{
    ColumnarConditions, ColumnarMessages, ColumnarPartitions, ColumnarRecords, ColumnarSteps,
    ColumnarViolations, Interner,
};
use self::logs::ColumnarLogChanges;
use self::safe::{ScriptSafeWriter, escape_html};
use super::options::{DiagramClock, DiagramOptions, TimeAxis, TraceWindow};
use super::{LayoutBuilder, check_drawable_size};
use crate::fold::logs::ReplicatedLogStates;
use crate::format::{ClockUnit, Header, Reader, Record};
use crate::merge::{MergeError, merge_files};
use crate::verify::Verification;

const PAGE: &str = include_str!("viewer/viewer.html");
/// Colors of all pages, in light and dark, as CSS custom properties.
pub const PALETTE_CSS: &str = include_str!("viewer/palette.css");
const STYLE: &str = concat!(include_str!("viewer/palette.css"), include_str!("viewer/viewer.css"));
/// JavaScript functions that all pages share: `byId`, `element`, `facts` and `updateChildren`.
pub const ELEMENT_HELPERS_JS: &str = include_str!("viewer/element.js");
/// Scripts of the page, in the order in which the page loads them.
const SCRIPTS: [&str; 10] = [
    ELEMENT_HELPERS_JS,
    include_str!("viewer/trace.js"),
    include_str!("viewer/intervals.js"),
    include_str!("viewer/state.js"),
    include_str!("viewer/canvas.js"),
    include_str!("viewer/marks.js"),
    include_str!("viewer/overview.js"),
    include_str!("viewer/logs.js"),
    include_str!("viewer/panels.js"),
    include_str!("viewer/viewer.js"),
];

/// Maximum number of records on a page if the window has neither a last record nor a maximum number
/// of records.
const DEFAULT_MAX_RECORDS: u64 = 100_000;

/// Builds an interactive page from the records of a run.
///
/// The page shows the records in its [window](TraceWindow). The verification and the number of
/// records include the whole run.
#[derive(Debug)]
pub struct DiagramPage {
    header: Header,
    window: TraceWindow,
    builder: LayoutBuilder,
    /// Time of the first record, counted from `start`. `None` before the first record.
    first: Option<u64>,
    /// Time that the page displays as 0. In virtual time it is 0. In real time it is the time of
    /// the first record, and `None` before that.
    start: Option<u64>,
    /// Number of records added so far.
    number: u64,
    /// Number of records in the window so far.
    kept: u64,
    /// True if a record after the window was added.
    over: bool,
    names: Interner,
    records: ColumnarRecords,
    /// Logs after the last record added, or after the first record behind the window. The page
    /// stores how they change within the window.
    logs: ReplicatedLogStates,
    changes: ColumnarLogChanges,
    scale: TimeAxis,
}

/// Data that the page embeds as JSON.
#[derive(Serialize)]
struct PageData<'a> {
    header: &'a Header,
    caption: String,
    unit: &'static str,
    records: u64,
    shown: Option<(u64, u64)>,
    is_cut_off: bool,
    /// Scale of the time axis when the page opens: `time` or `rank`.
    scale: &'static str,
    card: Option<&'a Card>,
    verification: &'a Verification,
    /// For each violation, the index of the step in which it occurred; -1 if the window contains no
    /// such step.
    violated: Vec<i64>,
    steps: ColumnarSteps,
    crossings: ColumnarMessages,
    spans: ColumnarConditions,
    regions: ColumnarPartitions,
    violation_marks: ColumnarViolations,
    details: &'a ColumnarRecords,
    logs: &'a ColumnarLogChanges,
    names: &'a Interner,
}

impl DiagramPage {
    /// Creates a page for a trace with the header `header`. If the window has neither a last record
    /// ([`TraceWindow::record_numbers`]) nor a maximum number of records, the page shows at most
    /// 100,000 records, which browsers display well. This limit applies even if the window ends at
    /// a certain time.
    pub fn new(header: &Header, window: TraceWindow) -> Self {
        let ends = window.record_numbers.as_ref().is_some_and(|events| *events.end() < u64::MAX);
        let most = window.max_records.or((!ends).then_some(DEFAULT_MAX_RECORDS));
        let window = TraceWindow { max_records: most, ..window };
        let options = DiagramOptions {
            scale: TimeAxis::Time,
            clock: DiagramClock::Lamport,
            window: window.clone(),
            fields: Vec::new(),
        };
        DiagramPage {
            header: header.clone(),
            window,
            builder: LayoutBuilder::new(header, options),
            first: None,
            start: (header.clock == ClockUnit::Tick).then_some(0),
            number: 0,
            kept: 0,
            over: false,
            names: Interner::default(),
            records: ColumnarRecords::default(),
            logs: ReplicatedLogStates::default(),
            changes: ColumnarLogChanges::default(),
            scale: TimeAxis::Time,
        }
    }

    /// Creates a page from the files at `paths`, which are traces of one run. If there is only one
    /// path, reads the file record by record, so the file may have any length. If there are several
    /// paths, merges the files in memory.
    ///
    /// # Errors
    ///
    /// Returns [`MergeError`] if the files cannot be read or merged, or if the group is too large
    /// for a drawing.
    pub fn from_files<P: AsRef<Path>>(
        paths: &[P],
        window: TraceWindow,
    ) -> Result<Self, MergeError> {
        let [path] = paths else {
            let merged = merge_files(paths)?;
            check_drawable_size(&merged.header)?;
            let mut page = DiagramPage::new(&merged.header, window);
            merged.records.iter().for_each(|record| page.add_record(record));
            return Ok(page);
        };
        let mut reader = Reader::open(path)?;
        check_drawable_size(reader.header())?;
        let mut page = DiagramPage::new(reader.header(), window);
        for record in reader.by_ref() {
            page.add_record(&record?);
        }
        Ok(page)
    }

    /// Sets the scale of the time axis when the page opens. Users can change it.
    #[must_use]
    pub fn with_initial_axis(mut self, scale: TimeAxis) -> Self {
        self.scale = scale;
        self
    }

    /// Returns the header of the trace.
    pub fn trace_header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of records that were added so far, inside and outside of the window.
    pub fn record_count(&self) -> u64 {
        self.number
    }

    /// Returns true if no record added so far lies in the window.
    pub fn is_window_empty(&self) -> bool {
        self.kept == 0
    }

    /// Adds the next record of the run. The verification judges the record even if it lies outside
    /// of the window.
    pub fn add_record(&mut self, record: &Record) {
        self.builder.add_record(record);
        self.number += 1;
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        self.first.get_or_insert(time);
        if self.over {
            return;
        }
        let shows = self.window.contains_record(self.number, time, self.kept);
        if shows && self.kept == 0 {
            self.changes.push_initial_logs(&self.logs, self.header.n, &mut self.names);
        }
        let changed = self.logs.apply_record(record);
        if shows {
            if let Some(changed) = changed {
                self.changes.push(self.kept as i64, changed, &self.logs, &mut self.names);
            }
            self.kept += 1;
            self.records.push(self.number, record, &mut self.names);
        } else {
            self.over = self.kept > 0;
        }
    }

    /// Writes the page. If `card` is given, the page shows the costs on the card beside the
    /// measured numbers of messages.
    ///
    /// # Errors
    ///
    /// Returns the error of a failed write. The output may then contain a part of the page.
    pub fn write_html(mut self, card: Option<&Card>, to: &mut impl Write) -> io::Result<()> {
        let (layout, verification) = self.builder.finish_with_verification();
        self.records.assign_steps(&layout);
        let steps = ColumnarSteps::from_layout(&layout, &mut self.names);
        let arrows = ColumnarMessages::from_layout(&layout, &mut self.names);
        let data = PageData {
            header: &self.header,
            caption: layout.caption(),
            unit: layout.time_unit(),
            records: layout.record_count,
            shown: layout.shown_records,
            is_cut_off: layout.is_cut_off,
            scale: if self.scale == TimeAxis::Time { "time" } else { "rank" },
            card,
            verification: &verification,
            violated: columnar::violation_steps(&layout, &verification, self.first.unwrap_or(0)),
            steps,
            crossings: arrows,
            spans: ColumnarConditions::from_layout(&layout),
            regions: ColumnarPartitions::from_layout(&layout),
            violation_marks: ColumnarViolations::from_layout(&layout),
            details: &self.records,
            logs: &self.changes,
            names: &self.names,
        };
        fill(&data, to)
    }
}

/// Writes the page. Each placeholder, a comment of the form `<!--name-->`, is replaced by its
/// contents.
fn fill(data: &PageData<'_>, to: &mut impl Write) -> io::Result<()> {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("<!--") {
        let (name, after) = after.split_once("-->").unwrap_or((after, ""));
        to.write_all(before.as_bytes())?;
        match name {
            "title" => to.write_all(escape_html(&data.caption).as_bytes())?,
            "style" => to.write_all(STYLE.as_bytes())?,
            "trace" => serde_json::to_writer(ScriptSafeWriter(&mut *to), data)?,
            "scripts" => SCRIPTS.iter().try_for_each(|script| to.write_all(script.as_bytes()))?,
            _ => {}
        }
        rest = after;
    }
    to.write_all(rest.as_bytes())
}
