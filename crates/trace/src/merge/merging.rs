//! Merge of the records of many files, while the files are read.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use tenure_core::ProcessId;

use super::MergeReport;
use super::dependency::{Dependency, MessageKey, satisfied_dependencies};
use super::merge_state::MergeState;
use super::record_source::{NextRecord, RecordSource};
use crate::format::{ReadError, Record, RecordKind, RecordSubject, TraceProducer, unix_time_nanos};

/// Maximum number of records that a merge reads ahead per file.
pub(crate) const LOOK_AHEAD: usize = 1 << 16;

/// Time for which a silent file may delay the records of other files, in nanoseconds. A file is
/// silent if it is still being written but has no new record. A record that depends on a silent
/// file waits without a limit.
const SILENCE_TIMEOUT: u64 = 1_000_000_000;

struct MergedFile<F> {
    records: F,
    /// Records that were read ahead and are not delivered yet.
    ahead: VecDeque<Record>,
    source: TraceProducer,
    state: State,
    /// Process and session of the last record that was read from the file, without regard to
    /// records that belong to no process. `None` before the first record of a process.
    last: Option<(ProcessId, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The last read found no record, but the file is still being written.
    Silent,
    Ended,
}

/// Sort key of a file, by which the merge selects the next file. The key consists of the time, the
/// subject and the sequence number of the file's first record, and of the index of the file.
type Turn = (u64, RecordSubject, u64, usize);

/// Merges the records of many files into one order.
pub(crate) struct RecordMerger<F> {
    files: Vec<MergedFile<F>>,
    turns: BinaryHeap<Reverse<Turn>>,
    /// Indices of the blocked files, by the dependency for which their first records wait.
    blocked: HashMap<Dependency, Vec<usize>>,
    merge_state: MergeState,
    look_ahead: usize,
    /// True if a file has ended since the merge last unblocked all files. A file is blocked while
    /// its first record must wait for records of other files.
    ended: bool,
    /// For each process with a known crash, the latest session that ended with a crash. The merge
    /// may know of a crash before it delivers the record of the crash.
    crashed: HashMap<ProcessId, u64>,
    unmatched: u64,
    contradictions: u64,
    max_retained: usize,
}

impl<F: RecordSource> RecordMerger<F> {
    /// Creates a merge that reads at most `look_ahead` records ahead in each file.
    pub(crate) fn new(
        files: impl IntoIterator<Item = (TraceProducer, F)>,
        look_ahead: usize,
    ) -> Self {
        let file = |(source, records)| MergedFile {
            records,
            ahead: VecDeque::new(),
            source,
            state: State::Silent,
            last: None,
        };
        RecordMerger {
            files: files.into_iter().map(file).collect(),
            turns: BinaryHeap::new(),
            blocked: HashMap::new(),
            merge_state: MergeState::default(),
            look_ahead,
            ended: false,
            crashed: HashMap::new(),
            unmatched: 0,
            contradictions: 0,
            max_retained: 0,
        }
    }

    pub(crate) fn readers(&self) -> impl Iterator<Item = &F> {
        self.files.iter().map(|file| &file.records)
    }

    pub(crate) fn readers_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.files.iter_mut().map(|file| &mut file.records)
    }

    pub(crate) fn merge_report(&self) -> MergeReport {
        let RecordMerger { unmatched, contradictions, .. } = *self;
        MergeReport { unmatched, contradictions, ..MergeReport::default() }
    }

    pub(crate) fn max_retained_count(&self) -> usize {
        self.max_retained
    }

    /// Returns the next record in the merged order. Returns [`NextRecord::Later`] if a file may
    /// still get an earlier record, or a record on which the next record depends.
    pub(crate) fn next_record(&mut self) -> Result<NextRecord, ReadError> {
        let silent = self.read_first_records()?;
        loop {
            while let Some(Reverse(turn)) = self.turns.peek() {
                let (time, .., file) = *turn;
                if silent && time.saturating_add(SILENCE_TIMEOUT) > unix_time_nanos() {
                    return Ok(NextRecord::Later);
                }
                self.turns.pop();
                match self.blocking_dependency(file)? {
                    None => return Ok(self.deliver(file)),
                    Some(dependency) => self.blocked.entry(dependency).or_default().push(file),
                }
            }
            if self.records_crashes()? {
                continue;
            }
            if silent || self.read_ahead_in_all()? {
                return Ok(NextRecord::Later);
            }
            if !std::mem::take(&mut self.ended) {
                return Ok(self.deliver_despite_cycle());
            }
            self.unblock(|_| true);
        }
    }

    /// Reads ahead in the traces of parents, to find crashes. A parent is a program that starts
    /// nodes. Unblocks the files that wait for a message of a crashed process. Ignores crashes in
    /// the last second. Returns true if it finds a new crash.
    ///
    /// Reading ahead avoids a deadlock. A crash record is delivered only after the earlier records
    /// of the parent, and one of these records may wait for a blocked file.
    fn records_crashes(&mut self) -> Result<bool, ReadError> {
        if self.blocked.is_empty() {
            return Ok(false);
        }
        self.look_ahead(None, |source| source == TraceProducer::Parent)?;
        let parents = self.files.iter().filter(|file| file.source == TraceProducer::Parent);
        let (crashed, now) = (&self.crashed, unix_time_nanos());
        let news = |record: &&Record| {
            let at = record.process.process();
            let before = at.and_then(|at| crashed.get(&at));
            record.kind == RecordKind::Crash
                && before.is_none_or(|before| *before < record.session)
                && record.time.saturating_add(SILENCE_TIMEOUT) <= now
        };
        let crashes = parents.flat_map(|file| &file.ahead).filter(news);
        let crashes =
            crashes.filter_map(|record| Some((record.process.process()?, record.session)));
        let crashes: Vec<(ProcessId, u64)> = crashes.collect();
        for (at, session) in &crashes {
            self.end_session(*at, *session);
        }
        Ok(!crashes.is_empty())
    }

    /// Handles the end of a session of the process `at`, which writes no further records in this
    /// session. Unblocks the files that wait for a message from this process.
    fn end_session(&mut self, at: ProcessId, session: u64) {
        let last = self.crashed.entry(at).or_insert(session);
        *last = session.max(*last);
        self.unblock(|dependency| matches!(dependency, Dependency::Sending(it) if it.from == at));
    }

    /// Reads ahead in all files, if a file is blocked. Returns true if a file is still being
    /// written and may get further records. Returns false if no file is blocked.
    fn read_ahead_in_all(&mut self) -> Result<bool, ReadError> {
        if self.blocked.is_empty() {
            return Ok(false);
        }
        for file in self.files.iter_mut().filter(|file| file.state == State::Silent) {
            file.state = State::Reading;
        }
        self.look_ahead(None, |_| true)?;
        Ok(self.files.iter().any(|file| file.state == State::Silent))
    }

    /// Delivers the earliest blocked record although its dependencies are not satisfied, which
    /// breaks a cycle of dependencies. Returns [`NextRecord::End`] if no record is left.
    fn deliver_despite_cycle(&mut self) -> NextRecord {
        let turns = self.blocked.values().flatten().filter_map(|file| self.turn(*file));
        let Some((.., first)) = turns.min() else { return NextRecord::End };
        self.contradictions += 1;
        self.blocked.retain(|_, files| {
            files.retain(|file| *file != first);
            !files.is_empty()
        });
        self.deliver(first)
    }

    /// Reads one record from each file without a record in memory. Returns true if one of these
    /// files has no new record but is still being written.
    fn read_first_records(&mut self) -> Result<bool, ReadError> {
        let mut silent = false;
        for file in 0..self.files.len() {
            let MergedFile { ahead, state, .. } = &mut self.files[file];
            if !ahead.is_empty() || *state == State::Ended {
                continue;
            }
            *state = State::Reading;
            self.read(file)?;
            self.line_up(file);
            silent |= self.files[file].state == State::Silent;
        }
        Ok(silent)
    }

    fn read(&mut self, file: usize) -> Result<(), ReadError> {
        let MergedFile { records, ahead, source, state, last } = &mut self.files[file];
        match records.next_record()? {
            NextRecord::Record(record) => {
                *last = record.process.process().map(|at| (at, record.session)).or(*last);
                satisfied_dependencies(&record, *source == TraceProducer::Node)
                    .for_each(|given| self.merge_state.on_read_ahead(given));
                ahead.push_back(record);
            }
            NextRecord::Later => *state = State::Silent,
            NextRecord::End => (*state, self.ended) = (State::Ended, true),
        }
        Ok(())
    }

    /// Reads ahead in the files whose source satisfies `within`, until one of the records in
    /// `dependency` has been read. Returns true if one of these records has been read and is not
    /// delivered yet.
    fn look_ahead(
        &mut self,
        dependency: Option<Dependency>,
        within: impl Fn(TraceProducer) -> bool,
    ) -> Result<bool, ReadError> {
        let found = |merge_state: &MergeState| {
            dependency.is_some_and(|dependency| merge_state.is_pending(dependency))
        };
        for file in 0..self.files.len() {
            while within(self.files[file].source)
                && self.files[file].state == State::Reading
                && self.files[file].ahead.len() < self.look_ahead
                && !found(&self.merge_state)
            {
                self.read(file)?;
            }
        }
        let ahead = self.files.iter().map(|file| file.ahead.len()).sum::<usize>();
        self.max_retained = self.max_retained.max(ahead + self.merge_state.retained_count());
        Ok(found(&self.merge_state))
    }

    fn turn(&self, file: usize) -> Option<Turn> {
        let record = self.files[file].ahead.front()?;
        Some((record.time, record.process, record.sequence, file))
    }

    fn line_up(&mut self, file: usize) {
        self.turns.extend(self.turn(file).map(Reverse));
    }

    fn blocking_dependency(&mut self, file: usize) -> Result<Option<Dependency>, ReadError> {
        let MergedFile { ahead, source, .. } = &self.files[file];
        let by_process = *source == TraceProducer::Node;
        let Some(record) = ahead.front() else { return Ok(None) };
        let Some(at) = record.process.process() else { return Ok(None) };
        let (session, time) = (record.session, record.time);
        match &record.kind {
            RecordKind::Receive(message_record) => {
                self.sending(MessageKey::of_received(at, message_record))
            }
            RecordKind::Crash if !by_process => {
                let writing = Dependency::SessionRecords(at, session);
                let writes = self.merge_state.is_pending(writing)
                    || self.look_ahead(Some(writing), |source| source == TraceProducer::Node)?;
                Ok(writes.then_some(writing))
            }
            RecordKind::Boot if by_process => {
                self.look_ahead(None, |it| {
                    !matches!(it, TraceProducer::Node | TraceProducer::Resource)
                })?;
                let crash = self.merge_state.last_crash(at, time);
                let crash = crash.map(|time| Dependency::Crashing(at, time));
                Ok(crash.filter(|crash| self.merge_state.is_pending(*crash)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the dependency of a `receive` record on the `send` record of the same message.
    /// Returns `None` if the `send` record is already in the merged trace. Also returns `None` if
    /// no trace contains it, and counts the message as unmatched.
    fn sending(&mut self, message: MessageKey) -> Result<Option<Dependency>, ReadError> {
        let sending = Dependency::Sending(message);
        if self.merge_state.was_sent(message) {
            return Ok(None);
        }
        let comes = self.merge_state.is_pending(sending)
            || self.look_ahead(Some(sending), |it| {
                !matches!(it, TraceProducer::Parent | TraceProducer::Resource)
            })?
            || self.may_be_written(message);
        self.unmatched += u64::from(!comes);
        Ok(comes.then_some(sending))
    }

    /// Returns true if the `send` record of the message may still be missing, because the sender is
    /// still writing its file.
    fn may_be_written(&self, message: MessageKey) -> bool {
        let MessageKey { from, session, .. } = message;
        let crashed = self.crashed.get(&from).is_some_and(|crashed| *crashed >= session);
        let writes = |file: &MergedFile<F>| {
            let here = file.last.is_some_and(|(at, last)| at == from && last <= session);
            here && file.source == TraceProducer::Node && file.state == State::Silent
        };
        !crashed && self.files.iter().any(writes)
    }

    /// Delivers the first record of a file and unblocks the files that depend on it.
    fn deliver(&mut self, file: usize) -> NextRecord {
        let MergedFile { ahead, source, .. } = &mut self.files[file];
        let Some(record) = ahead.pop_front() else { return NextRecord::End };
        let by_process = *source == TraceProducer::Node;
        self.max_retained = self.max_retained.max(self.merge_state.retained_count());
        for given in satisfied_dependencies(&record, by_process) {
            if self.merge_state.on_delivery(given) {
                self.unblock(|dependency| *dependency == given);
            }
        }
        self.line_up(file);
        match (&record.kind, record.process.process()) {
            (RecordKind::Crash, Some(at)) => self.end_session(at, record.session),
            (RecordKind::Boot | RecordKind::Recover, Some(at)) => {
                self.unblock(
                    |dependency| matches!(dependency, Dependency::Sending(it) if it.from == at),
                );
            }
            _ => {}
        }
        NextRecord::Record(record)
    }

    /// Unblocks the files that wait for a dependency for which `waits_for` returns true. The merge
    /// then examines the first records of these files again.
    fn unblock(&mut self, waits_for: impl Fn(&Dependency) -> bool) {
        if self.blocked.is_empty() {
            return;
        }
        let freed: Vec<usize> = self
            .blocked
            .extract_if(|dependency, _| waits_for(dependency))
            .flat_map(|it| it.1)
            .collect();
        freed.into_iter().for_each(|file| self.line_up(file));
    }
}
