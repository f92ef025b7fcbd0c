//! Pictures of replicated logs, in the style of papers. Each process has a row of boxes, one per
//! entry, with the term of the entry. A mark follows the entry at the commit index.

mod svg;
mod text;

use std::cmp::Ordering;
use std::path::Path;

use tenure_core::ProcessId;

use super::check_drawable_size;
use crate::fold::logs::{ReplicatedLogState, ReplicatedLogStates};
use crate::format::{ClockUnit, Header, Reader, Record};
use crate::merge::{MergeError, MergedTrace, merge_files_for_verification};
use crate::show::format_ticks_briefly;

/// Moment of a run at which a picture shows the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicatedLogMoment {
    /// The end of the trace, after all records.
    End,
    /// The moment after all records up to this time: in virtual time, the ticks since the start of
    /// the run; in real time, the nanoseconds since the first record.
    AtTime(u64),
    /// The moment after the record with this number, from 1.
    AfterRecord(u64),
}

impl ReplicatedLogMoment {
    fn is_before(self, number: u64, time: u64) -> bool {
        match self {
            ReplicatedLogMoment::End => false,
            ReplicatedLogMoment::AtTime(at) => time > at,
            ReplicatedLogMoment::AfterRecord(record) => number > record,
        }
    }

    fn caption(self, header: &Header) -> String {
        match self {
            ReplicatedLogMoment::End => "in the end".to_owned(),
            ReplicatedLogMoment::AtTime(at) => {
                format!("at {} {}", format_ticks_briefly(at), header.clock.display_unit_name())
            }
            ReplicatedLogMoment::AfterRecord(record) => format!("behind event {record}"),
        }
    }
}

/// Picture that shows the logs of all processes at one or several moments of a run.
#[derive(Clone, Debug)]
pub struct ReplicatedLogDiagram {
    header: Header,
    panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
struct Panel {
    caption: String,
    logs: ReplicatedLogStates,
}

impl ReplicatedLogDiagram {
    /// Collects the logs of a run at the moments in `moments`, and orders the moments as they occur
    /// in the run. All moments must be of the same variant of [`ReplicatedLogMoment`]. If `moments`
    /// is empty, collects the logs at the end of the run.
    pub fn from_records<'r>(
        header: &Header,
        records: impl IntoIterator<Item = &'r Record>,
        moments: &[ReplicatedLogMoment],
    ) -> Self {
        let mut taking = PanelCollector::new(header, moments);
        records.into_iter().for_each(|record| taking.read(record));
        taking.finish()
    }

    /// Collects the logs from the files at `paths`, which are traces of one run, as
    /// [`ReplicatedLogDiagram::from_records`] does.
    ///
    /// # Errors
    ///
    /// Returns [`MergeError`] if the files cannot be read or merged, or if the group is too large
    /// for a drawing.
    pub fn from_files<P: AsRef<Path>>(
        paths: &[P],
        moments: &[ReplicatedLogMoment],
    ) -> Result<Self, MergeError> {
        let [path] = paths else {
            let MergedTrace { header, records, .. } = merge_files_for_verification(paths)?;
            check_drawable_size(&header)?;
            return Ok(ReplicatedLogDiagram::from_records(&header, &records, moments));
        };
        let mut reader = Reader::open(path)?.without_message_contents_and_states();
        check_drawable_size(reader.header())?;
        let mut taking = PanelCollector::new(reader.header(), moments);
        for record in reader.by_ref() {
            taking.read(&record?);
        }
        Ok(taking.finish())
    }

    /// Replaces the titles of the moments by `titles`. Both are in the order of the run. If there
    /// are fewer titles than moments, the remaining moments keep their titles.
    #[must_use]
    pub fn with_titles<'t>(mut self, titles: impl IntoIterator<Item = &'t str>) -> Self {
        for (panel, title) in self.panels.iter_mut().zip(titles) {
            title.clone_into(&mut panel.caption);
        }
        self
    }

    /// Returns the logs at each moment, in the order of the run.
    pub fn logs_by_moment(&self) -> impl Iterator<Item = &ReplicatedLogStates> {
        self.panels.iter().map(|panel| &panel.logs)
    }

    /// Returns true if no log contains an entry or a snapshot at any moment.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| panel.logs.is_empty())
    }

    fn processes(&self) -> impl Iterator<Item = ProcessId> + Clone {
        (0..self.header.n).map(ProcessId)
    }

    /// Returns the highest index of an entry in any log, at any moment that the picture shows. The
    /// entries in snapshots count. Returns 0 if there is no entry.
    fn last_index(&self) -> u64 {
        self.panels.iter().map(|panel| panel.logs.last_index()).max().unwrap_or(0)
    }

    /// Returns the first and the last log index that the picture shows. The last index is the
    /// highest index in any log. The picture shows at most `most` indices, but at least one if
    /// there is an entry.
    fn shown(&self, most: u64) -> (u64, u64) {
        let last = self.last_index();
        (last.saturating_sub(most.max(1)) + 1, last)
    }

    fn all(&self) -> impl Iterator<Item = (ProcessId, &ReplicatedLogState)> {
        self.panels
            .iter()
            .flat_map(|panel| self.processes().filter_map(|at| Some((at, panel.logs.log(at)?))))
    }
}

struct PanelCollector {
    picture: ReplicatedLogDiagram,
    /// Moments that lie after the records read so far, and are therefore not drawn yet. The last
    /// element is the earliest moment.
    pending: Vec<ReplicatedLogMoment>,
    logs: ReplicatedLogStates,
    /// Time from which the times of moments count: 0 in virtual time, and the time of the first
    /// record in real time. `None` in real time before the first record.
    start: Option<u64>,
    /// Number of records read so far.
    number: u64,
}

impl PanelCollector {
    fn new(header: &Header, moments: &[ReplicatedLogMoment]) -> Self {
        let mut pending =
            if moments.is_empty() { vec![ReplicatedLogMoment::End] } else { moments.to_vec() };
        pending.sort_by(|one, other| match (one, other) {
            (ReplicatedLogMoment::AtTime(one), ReplicatedLogMoment::AtTime(other))
            | (ReplicatedLogMoment::AfterRecord(one), ReplicatedLogMoment::AfterRecord(other)) => {
                other.cmp(one)
            }
            _ => Ordering::Equal,
        });
        let picture = ReplicatedLogDiagram { header: header.clone(), panels: Vec::new() };
        let start = (header.clock == ClockUnit::Tick).then_some(0);
        PanelCollector { picture, pending, logs: ReplicatedLogStates::default(), start, number: 0 }
    }

    fn read(&mut self, record: &Record) {
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        self.number += 1;
        let number = self.number;
        while let Some(moment) = self.pending.pop_if(|moment| moment.is_before(number, time)) {
            self.take(moment);
        }
        self.logs.apply_record(record);
    }

    fn take(&mut self, moment: ReplicatedLogMoment) {
        let caption = moment.caption(&self.picture.header);
        self.picture.panels.push(Panel { caption, logs: self.logs.clone() });
    }

    fn finish(mut self) -> ReplicatedLogDiagram {
        while let Some(moment) = self.pending.pop() {
            self.take(moment);
        }
        self.picture
    }
}
