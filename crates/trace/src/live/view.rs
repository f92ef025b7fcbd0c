//! Current state of a run, as a page shows it.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use tenure_core::service::mutex;
use tenure_core::{Fence, PeerVerdict, ProcessId, Term};

use super::notable_events::{NotableEvent, RecentEvents};
use super::strip::{ConditionTimeSpan, RecentHistory, TimelineStrip, millis_since};
use crate::fold::process_state::{
    ProcessCondition, ProcessState, ProcessStateChange, ProcessStates, ProcessStatus,
};
use crate::format::process_check::unknown_process_error;
use crate::format::{Record, RecordKind, RecordSubject, ResourceAccessRecord};

/// Duration over which rates are averaged, in nanoseconds. The duration is shorter at the
/// beginning, and longer if snapshots are rare.
const RATE_WINDOW: u64 = 1_500_000_000;

/// Current state of a run for display.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// Time of the first record, in nanoseconds. The page displays this time as 0. `None` before
    /// the first record.
    start: Option<u64>,
    process_states: ProcessStates,
    processes: Vec<Watched>,
    /// Highest fence of an entry so far, and the process that entered with this fence.
    fence: Option<(Fence, ProcessId)>,
    refused: u64,
    refusal: Option<(u64, String)>,
    /// Highest term that any process has reported, and the time of the report.
    term: Option<(Term, u64)>,
    latest: RecentEvents,
    recent: RecentHistory,
    /// Earlier counts, from which rates are computed. Each element contains a time in nanoseconds,
    /// and a list with one pair per process: the number of entries and the number of sent messages
    /// up to this time.
    counted: VecDeque<(u64, Vec<(u64, u64)>)>,
    /// Time at which the run ended, in nanoseconds. The view ignores later records of processes,
    /// because they only show that the nodes stop one after another.
    ended: Option<u64>,
    /// For each suspicion that still holds, the time at which it began. The key is the suspecting
    /// process and the suspected peer.
    suspicions: HashMap<(ProcessId, ProcessId), u64>,
}

/// Numbers of entries, sent messages and rejected accesses of one process.
#[derive(Clone, Debug, Default)]
struct Watched {
    entries: u64,
    messages: u64,
    refused: u64,
}

/// Content of a live page at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveSnapshot {
    /// Time of the snapshot, in milliseconds since the first record.
    pub now: f64,
    /// All processes, in order.
    pub processes: Vec<ProcessSnapshot>,
    /// Number and term of the leader that the live processes accept. If they accept different
    /// leaders, the leader of the latest term counts. `None` if they know no leader, or if this
    /// leader is down.
    pub leader: Option<(u32, u64)>,
    /// Highest fence of an entry so far, as text, and the number of the process that entered with
    /// this fence. `None` before the first entry.
    pub fence: Option<(String, u32)>,
    /// Number of entries by all processes so far.
    pub entries: u64,
    /// Entries per second, averaged over about the last 1.5 seconds.
    pub entries_per_second: f64,
    /// Number of messages that all processes have sent so far. Messages of failure detectors do not
    /// count, because nodes do not record them.
    pub messages: u64,
    /// Messages per second, averaged over about the last 1.5 seconds.
    pub messages_per_second: f64,
    /// Number of accesses that the resource rejected.
    pub refused: u64,
    /// Description of the last access that the resource rejected, and its time in milliseconds
    /// since the first record. `None` if there was none.
    pub last_refused: Option<(String, f64)>,
    /// Latest notable events, from the oldest to the newest.
    pub news: Vec<NotableEvent>,
    /// Picture of the last 8 seconds of the run.
    pub strip: TimelineStrip,
    /// True if the run has ended.
    pub over: bool,
}

/// State of one process at the moment of the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessSnapshot {
    /// Number of the process, from 1.
    pub process: u32,
    /// Status of the process: `up`, `down`, `stopped` or `unknown`. A process that ended normally
    /// is `up`.
    pub life: &'static str,
    /// Phase of the process for the lock: `outside`, `waiting` or `inside`.
    pub lock: &'static str,
    /// Time since the process began to wait or entered, in milliseconds. `None` if the process is
    /// outside.
    pub for_ms: Option<f64>,
    /// Fence of the current entry, as text. `None` if the process is outside the critical section.
    pub fence: Option<String>,
    /// Number and term of the leader that this process accepts. `None` if it accepts no leader.
    pub leader: Option<(u32, u64)>,
    /// Numbers of the peers that the process suspects.
    pub suspects: Vec<u32>,
    /// Number of entries by the process so far.
    pub entries: u64,
    /// Entries per second by the process, averaged over about the last 1.5 seconds.
    pub entries_per_second: f64,
    /// Number of messages that the process has sent so far.
    pub messages: u64,
    /// Messages per second by the process, averaged over about the last 1.5 seconds.
    pub messages_per_second: f64,
    /// Number of accesses by the process that the resource rejected.
    pub refused: u64,
}

impl LiveView {
    /// Creates a view of a group of `size` processes in its initial state: no record has been read.
    pub fn new(size: u32) -> Self {
        LiveView {
            start: None,
            process_states: ProcessStates::default(),
            processes: vec![Watched::default(); size as usize],
            fence: None,
            refused: 0,
            refusal: None,
            term: None,
            latest: RecentEvents::default(),
            recent: RecentHistory::default(),
            counted: VecDeque::new(),
            ended: None,
            suspicions: HashMap::new(),
        }
    }

    /// Applies a record. The records of one file must be in order. Records of different files may
    /// come in any order. Ignores a record that names a process outside of the group.
    pub fn apply_record(&mut self, record: &Record) {
        let size = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        if unknown_process_error(record, size).is_some() {
            return;
        }
        self.start.get_or_insert(record.time);
        match record.process {
            RecordSubject::Process(_) if self.is_past_end(record.time) => {}
            RecordSubject::Process(at) => self.of_process(at, record),
            RecordSubject::Resource => {
                if let RecordKind::Access(access) = &record.kind {
                    self.accessed(access, record);
                }
            }
            RecordSubject::Parent => match &record.kind {
                RecordKind::End => {
                    self.ended = Some(record.time);
                    self.add_news(record, "end", None);
                }
                RecordKind::Partition(_) => self.add_news(record, "partition", None),
                RecordKind::Heal => self.add_news(record, "heal", None),
                _ => {}
            },
        }
    }

    fn is_past_end(&self, time: u64) -> bool {
        self.ended.is_some_and(|end| time > end)
    }

    /// Adds messages and entries of a process from records that the reader has skipped. The pair
    /// contains the number of messages and the number of entries. Assumes that the process is
    /// outside the critical section after these records.
    pub(super) fn add_skipped_counts(
        &mut self,
        who: RecordSubject,
        (messages, entries): (u64, u64),
    ) {
        let RecordSubject::Process(at) = who else { return };
        let Some(process) = self.processes.get_mut(at.index()) else { return };
        process.messages += messages;
        process.entries += entries;
        self.process_states.assume_outside(at);
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let start = self.start.unwrap_or(record.time);
        // Ignores the crash of an earlier session, because the process has booted again since then.
        let current = self.process_states.state(at).session;
        let is_late = record.kind == RecordKind::Crash
            && current.is_some_and(|session| record.session < session);
        let changes = if is_late { Vec::new() } else { self.process_states.apply_record(record) };
        // The reader may have skipped the entry that ended a wait, so a wait that seems to last
        // until a crash is not shown.
        let cut_short = changes.contains(&ProcessStateChange::Crashes)
            || changes.contains(&ProcessStateChange::Recovers);
        for change in changes {
            match change {
                ProcessStateChange::ConditionEnds(ProcessCondition::Waiting, _) if cut_short => {}
                ProcessStateChange::ConditionEnds(condition, from) => {
                    let until = Some(record.time);
                    self.recent.push_ended_span(ConditionTimeSpan {
                        process: at,
                        condition: word(condition),
                        from,
                        until,
                    });
                }
                ProcessStateChange::Boots => self.add_news(record, "boot", Some(at)),
                ProcessStateChange::Recovers => self.add_news(record, "recover", Some(at)),
                ProcessStateChange::SuspicionChanges(peer, verdict) => {
                    match verdict {
                        PeerVerdict::Suspect => self.suspicions.insert((at, peer), record.time),
                        PeerVerdict::Trust => self.suspicions.remove(&(at, peer)),
                    };
                    self.add_news(record, "suspicion", Some(at));
                }
                ProcessStateChange::LeaderChanges(Some(term)) => {
                    self.on_leader(term, record.time, start)
                }
                _ => {}
            }
        }
        let process = &mut self.processes[at.index()];
        match &record.kind {
            RecordKind::Crash => self.add_news(record, "crash", Some(at)),
            RecordKind::Stop => self.add_news(record, "stop", Some(at)),
            RecordKind::Continue => self.add_news(record, "continue", Some(at)),
            RecordKind::Event(event) => {
                if let Some(mutex::Event::Entered { fence }) = event.mutex() {
                    process.entries += 1;
                    self.fence = self.fence.max(Some((*fence, at)));
                }
            }
            RecordKind::Send(message_record) => {
                process.messages += 1;
                self.recent.on_send(at, record.session, message_record, record.time);
            }
            RecordKind::Receive(message_record) => {
                self.recent.on_receive(at, message_record, record.time, start)
            }
            RecordKind::Drop(message_record) => {
                self.recent.on_loss(at, message_record, record.time, start)
            }
            _ => {}
        }
    }

    /// Adds the leader of `term` to the news. Does nothing if a leader of this term or of a later
    /// term was added before.
    fn on_leader(&mut self, term: Term, time: u64, start: u64) {
        if self.term.is_none_or(|(last, _)| last < term) {
            self.term = Some((term, time));
            let description = format!("{} leads in term {}", term.leader, term.number);
            self.latest.push(millis_since(time, start), "elected", Some(term.leader), description);
        }
    }

    fn accessed(&mut self, access: &ResourceAccessRecord, record: &Record) {
        if access.accepted {
            return;
        }
        self.refused += 1;
        if let Some(process) = self.processes.get_mut(access.by.index()) {
            process.refused += 1;
        }
        self.refusal = Some((record.time, record.describe()));
        self.add_news(record, "refused", Some(access.by));
    }

    fn add_news(&mut self, record: &Record, kind: &'static str, process: Option<ProcessId>) {
        let at = millis_since(record.time, self.start.unwrap_or(record.time));
        self.latest.push(at, kind, process, record.describe());
    }

    /// Returns the content of the page at the time `now`, in nanoseconds since 1970, and drops old
    /// conditions and messages.
    pub fn prune_and_snapshot(&mut self, now: u64) -> LiveSnapshot {
        let start = *self.start.get_or_insert(now);
        let rates = self.rates(now);
        let open = self.open();
        let strip = self.recent.strip_at(now, start, open);
        let sum = |each: fn(&Watched) -> u64| self.processes.iter().map(each).sum();
        let processes: Vec<ProcessSnapshot> =
            (0..self.processes.len()).map(|place| self.process(place, now, rates[place])).collect();
        LiveSnapshot {
            now: millis_since(now, start),
            leader: self.leader(),
            fence: self.fence.map(|(fence, at)| (fence.to_string(), at.display_number())),
            entries: sum(|process| process.entries),
            entries_per_second: tenths(rates.iter().map(|rate| rate.0).sum()),
            messages: sum(|process| process.messages),
            messages_per_second: tenths(rates.iter().map(|rate| rate.1).sum()),
            refused: self.refused,
            last_refused: self
                .refusal
                .clone()
                .map(|(time, description)| (description, millis_since(time, start))),
            news: self.latest.all(),
            strip,
            over: self.ended.is_some(),
            processes,
        }
    }

    /// Returns the intervals of the conditions that still hold.
    fn open(&self) -> Vec<ConditionTimeSpan> {
        let processes = (0..self.processes.len()).map(ProcessId::from_index);
        let open = |process: ProcessId| {
            let conditions = self.process_states.state(process).conditions.iter();
            conditions.map(move |(condition, from)| ConditionTimeSpan {
                process,
                condition: word(*condition),
                from: *from,
                until: None,
            })
        };
        processes.flat_map(open).chain(self.silent_leader()).collect()
    }

    /// Returns the interval in which the current leader leads, if the view has read no records of
    /// the leader itself. For example, the page of a single node shows a leader at another node.
    /// Returns `None` if there is no leader, or if the view has read records of the leader.
    fn silent_leader(&self) -> Option<ConditionTimeSpan> {
        let (Term { number, leader: process }, from) = self.term?;
        let leads = self.leader() == Some((process.display_number(), number));
        let is_silent_leader =
            leads && self.process_states.state(process).status == ProcessStatus::Unknown;
        let condition = word(ProcessCondition::Leading(number));
        is_silent_leader.then_some(ConditionTimeSpan { process, condition, from, until: None })
    }

    /// Returns the number and the term of the leader that live processes accept. If the processes
    /// accept different leaders, returns the leader of the latest term. Returns `None` if this
    /// leader is down.
    fn leader(&self) -> Option<(u32, u64)> {
        let up = |at: ProcessId| self.process_states.state(at).status != ProcessStatus::Down;
        let live = (0..self.processes.len()).map(ProcessId::from_index).filter(|at| up(*at));
        let term = live.filter_map(|at| self.process_states.state(at).leader).max()?;
        let leads = term.leader.index() < self.processes.len() && up(term.leader);
        leads.then_some((term.leader.display_number(), term.number))
    }

    fn process(&self, place: usize, now: u64, rate: (f64, f64)) -> ProcessSnapshot {
        let (watched, at) = (&self.processes[place], ProcessId::from_index(place));
        let process_state = self.process_states.state(at);
        let mut lock = ("outside", None, None);
        for (condition, since) in &process_state.conditions {
            let fence =
                (*condition == ProcessCondition::Inside).then(|| process_state.fence.to_string());
            if matches!(condition, ProcessCondition::Waiting | ProcessCondition::Inside) {
                lock = (word(*condition), Some(millis_since(now, *since)), fence);
            }
        }
        let (lock, for_ms, fence) = lock;
        ProcessSnapshot {
            process: at.display_number(),
            life: match process_state.status {
                ProcessStatus::Unknown => "unknown",
                ProcessStatus::Down => "down",
                _ if process_state.condition_start(ProcessCondition::Stopped).is_some() => {
                    "stopped"
                }
                ProcessStatus::Up | ProcessStatus::Ended => "up",
            },
            lock,
            for_ms,
            fence,
            leader: process_state.leader.map(|term| (term.leader.display_number(), term.number)),
            suspects: self.suspects(at, process_state),
            entries: watched.entries,
            entries_per_second: tenths(rate.0),
            messages: watched.messages,
            messages_per_second: tenths(rate.1),
            refused: watched.refused,
        }
    }

    /// Returns the numbers of the peers that a process suspects. Omits suspicions that began after
    /// the end of the run. The view reads one file per process, so it may read such a suspicion
    /// before it reads the end of the run in another file.
    fn suspects(&self, at: ProcessId, process_state: &ProcessState) -> Vec<u32> {
        let since = |peer: &ProcessId| self.suspicions.get(&(at, *peer)).copied().unwrap_or(0);
        let peers = process_state.suspects.iter().filter(|peer| !self.is_past_end(since(peer)));
        peers.map(|peer| peer.display_number()).collect()
    }

    /// Returns, for each process, the entries and the messages per second, averaged over about the
    /// last 1.5 seconds.
    fn rates(&mut self, now: u64) -> Vec<(f64, f64)> {
        let counts: Vec<(u64, u64)> =
            self.processes.iter().map(|process| (process.entries, process.messages)).collect();
        while self.counted.len() > 1 && self.counted[1].0 + RATE_WINDOW <= now {
            self.counted.pop_front();
        }
        let rates = match self.counted.front() {
            Some((then, before)) if *then < now => {
                let seconds = (now - then) as f64 / 1e9;
                let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
                let both = counts.iter().zip(before);
                both.map(|(now, then)| (rate(now.0, then.0), rate(now.1, then.1))).collect()
            }
            _ => vec![(0.0, 0.0); counts.len()],
        };
        self.counted.push_back((now, counts));
        rates
    }
}

const fn word(condition: ProcessCondition) -> &'static str {
    match condition {
        ProcessCondition::Waiting => "waiting",
        ProcessCondition::Inside => "inside",
        ProcessCondition::Leading(_) => "leading",
        ProcessCondition::Token => "token",
        ProcessCondition::Down => "down",
        ProcessCondition::Stopped => "stopped",
    }
}

fn tenths(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}
