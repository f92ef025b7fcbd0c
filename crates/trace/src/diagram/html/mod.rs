//! A run as one HTML file, that opens without a network and without a server.
//!
//! The page carries what it shows as JSON, the steps and messages of the
//! [`Layout`](super::Layout) in columns, and draws only what is visible. Styles and scripts are
//! within it.

mod columns;
mod contrast;
mod logs;
mod safe;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tenure_core::Card;

use self::columns::{Crimes, Crossings, Names, Records, Regions, Spans, Steps};
use self::logs::LogChanges;
use self::safe::{Safe, escaped};
use super::view::{Clock, Scale, View, Window};
use super::{Reading, fits};
use crate::fold::logs::Logs;
use crate::format::{ClockUnit, Header, Reader, Record, Trace};
use crate::merge::{MergeError, merge};
use crate::verify::Verification;

const PAGE: &str = include_str!("viewer/viewer.html");
/// The colours of every page of the house, in light and in dark, as custom properties of CSS.
pub const PALETTE: &str = include_str!("viewer/palette.css");
const STYLE: &str = concat!(include_str!("viewer/palette.css"), include_str!("viewer/viewer.css"));
/// Functions of JavaScript by which pages of the house are put together: `byId`, `element` and
/// `facts`.
pub const ELEMENTS: &str = include_str!("viewer/element.js");
/// What the page does, in the order in which it is read.
const SCRIPTS: [&str; 10] = [
    ELEMENTS,
    include_str!("viewer/trace.js"),
    include_str!("viewer/intervals.js"),
    include_str!("viewer/state.js"),
    include_str!("viewer/picture.js"),
    include_str!("viewer/marks.js"),
    include_str!("viewer/overview.js"),
    include_str!("viewer/logs.js"),
    include_str!("viewer/panels.js"),
    include_str!("viewer/viewer.js"),
];

/// How many records a page shows unless it is told how many.
const MOST: u64 = 100_000;

/// Takes the records of a run one by one, and makes a page of what lies in the window.
///
/// The whole run is judged and counted; only the window is kept in memory.
#[derive(Debug)]
pub struct Page {
    header: Header,
    window: Window,
    reading: Reading,
    /// The time of the first record, in ticks since the beginning of the trace.
    first: Option<u64>,
    /// The time that is told as 0.
    start: Option<u64>,
    number: u64,
    kept: u64,
    over: bool,
    names: Names,
    records: Records,
    /// What all have as their logs, and what changed in them in the window.
    logs: Logs,
    changes: LogChanges,
    scale: Scale,
}

/// All that the page knows.
#[derive(Serialize)]
struct Told<'a> {
    header: &'a Header,
    caption: String,
    unit: &'static str,
    records: u64,
    shown: Option<(u64, u64)>,
    goes_on: bool,
    /// What the steps are placed by at first: `time` or `rank`.
    scale: &'static str,
    card: Option<&'a Card>,
    verification: &'a Verification,
    /// The step of each of its violations, -1 where the window does not show it.
    violated: Vec<i64>,
    steps: Steps,
    crossings: Crossings,
    spans: Spans,
    regions: Regions,
    crimes: Crimes,
    told: &'a Records,
    logs: &'a LogChanges,
    names: &'a Names,
}

impl Page {
    /// Begins a page for a trace with this header. A window without an end is limited to 100,000
    /// records, which a browser shows well.
    pub fn new(header: &Header, window: Window) -> Self {
        let ends = window.events.as_ref().is_some_and(|events| *events.end() < u64::MAX);
        let most = window.most.or((!ends).then_some(MOST));
        let window = Window { most, ..window };
        let view = View {
            scale: Scale::Time,
            clock: Clock::Lamport,
            window: window.clone(),
            fields: Vec::new(),
        };
        Page {
            header: header.clone(),
            window,
            reading: Reading::new(header, view),
            first: None,
            start: (header.clock == ClockUnit::Tick).then_some(0),
            number: 0,
            kept: 0,
            over: false,
            names: Names::default(),
            records: Records::default(),
            logs: Logs::default(),
            changes: LogChanges::default(),
            scale: Scale::Time,
        }
    }

    /// A page of the files at `paths`, traces of one run: one alone as it is read, however long;
    /// several merged.
    ///
    /// # Errors
    ///
    /// [`MergeError`] when they cannot be read or merged; the files are only read.
    pub fn of_files<P: AsRef<Path>>(paths: &[P], window: Window) -> Result<Self, MergeError> {
        let [path] = paths else {
            let merged = merge(paths.iter().map(Trace::read).collect::<Result<_, _>>()?)?;
            fits(&merged.header)?;
            let mut page = Page::new(&merged.header, window);
            merged.records.iter().for_each(|record| page.read(record));
            return Ok(page);
        };
        let mut reader = Reader::open(path)?;
        fits(reader.header())?;
        let mut page = Page::new(reader.header(), window);
        for record in reader.by_ref() {
            page.read(&record?);
        }
        Ok(page)
    }

    /// The same, with its steps placed by this until somebody chooses otherwise on the page.
    #[must_use]
    pub fn scaled_by(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// The first line of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many records were read.
    pub fn records(&self) -> u64 {
        self.number
    }

    /// Whether no record lies in the window.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Reads the next record.
    pub fn read(&mut self, record: &Record) {
        self.reading.read(record);
        self.number += 1;
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        self.first.get_or_insert(time);
        if self.over {
            return;
        }
        let shows = self.window.shows(self.number, time, self.kept);
        if shows && self.kept == 0 {
            self.changes.begin(&self.logs, self.header.n, &mut self.names);
        }
        let changed = self.logs.read(record);
        if shows {
            if let Some(changed) = changed {
                self.changes.put(self.kept as i64, changed, &self.logs, &mut self.names);
            }
            self.kept += 1;
            self.records.put(self.number, record, &mut self.names);
        } else {
            self.over = self.kept > 0;
        }
    }

    /// Writes the page. With the algorithm's card, what it says of the messages stands beside
    /// what was counted.
    ///
    /// # Errors
    ///
    /// Those of writing; a part of the page may have been written then.
    pub fn write(mut self, card: Option<&Card>, to: &mut impl Write) -> io::Result<()> {
        let (layout, verification) = self.reading.judged();
        self.records.place(&layout);
        let steps = Steps::of(&layout, &mut self.names);
        let crossings = Crossings::of(&layout, &mut self.names);
        let told = Told {
            header: &self.header,
            caption: layout.caption(),
            unit: layout.unit(),
            records: layout.records,
            shown: layout.shown,
            goes_on: layout.goes_on,
            scale: if self.scale == Scale::Time { "time" } else { "rank" },
            card,
            verification: &verification,
            violated: columns::violated(&layout, &verification, self.first.unwrap_or(0)),
            steps,
            crossings,
            spans: Spans::of(&layout),
            regions: Regions::of(&layout),
            crimes: Crimes::of(&layout),
            told: &self.records,
            logs: &self.changes,
            names: &self.names,
        };
        fill(&told, to)
    }
}

/// Puts the parts of the page in their places, which are comments of the form `<!--name-->`.
fn fill(told: &Told<'_>, to: &mut impl Write) -> io::Result<()> {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("<!--") {
        let (name, after) = after.split_once("-->").unwrap_or((after, ""));
        to.write_all(before.as_bytes())?;
        match name {
            "title" => to.write_all(escaped(&told.caption).as_bytes())?,
            "style" => to.write_all(STYLE.as_bytes())?,
            "trace" => serde_json::to_writer(Safe(&mut *to), told)?,
            "scripts" => SCRIPTS.iter().try_for_each(|script| to.write_all(script.as_bytes()))?,
            _ => {}
        }
        rest = after;
    }
    to.write_all(rest.as_bytes())
}
