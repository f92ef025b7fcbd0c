use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use tenure_core::service::{election, mutex};
use tenure_core::{Fence, ProcessId, Term, Verdict};

use super::news::{Latest, News};
use super::strip::{Belt, Span, Strip, millis};
use crate::show::Words;
use crate::{Access, Kind, Record, Told, Who};

/// Rates are those of this time, in nanoseconds.
const RATED: u64 = 1_500_000_000;

/// What is known of a run now.
#[derive(Clone, Debug)]
pub struct View {
    /// The time that is told as 0.
    start: Option<u64>,
    processes: Vec<Watched>,
    /// The highest fence of an entry, and whose.
    fence: Option<(Fence, ProcessId)>,
    refused: u64,
    refusal: Option<(u64, Access)>,
    /// The highest term that anybody was told of.
    term: Option<Term>,
    latest: Latest,
    belt: Belt,
    /// When there were how many entries and messages, by process.
    counted: VecDeque<(u64, Vec<(u64, u64)>)>,
    over: bool,
}

/// What is known of one process.
#[derive(Clone, Debug, Default)]
struct Watched {
    session: u64,
    life: Life,
    lock: Lock,
    belief: Option<Term>,
    leads_since: Option<u64>,
    suspected: BTreeSet<u32>,
    entries: u64,
    messages: u64,
    refused: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Unknown,
    Up,
    Down(u64),
    Stopped(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lock {
    #[default]
    Outside,
    Waiting(u64),
    Inside(u64, Fence),
}

/// Everything that a page shows, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// The moment, in milliseconds since the first record.
    pub now: f64,
    /// Everybody, in order.
    pub processes: Vec<Process>,
    /// The number of whom those who are up believe to lead, and of the term.
    pub leader: Option<(u32, u64)>,
    /// The highest fence of an entry, and the number of who got it.
    pub fence: Option<(String, u32)>,
    /// Entries so far.
    pub entries: u64,
    /// Entries in a second, of late.
    pub entries_per_second: f64,
    /// Messages sent so far, heartbeats left out.
    pub messages: u64,
    /// Messages in a second, of late.
    pub messages_per_second: f64,
    /// Accesses that the resource refused.
    pub refused: u64,
    /// The last of them, in words, and when it was.
    pub last_refused: Option<(String, f64)>,
    /// The latest of what people want to know of.
    pub news: Vec<News>,
    /// The last seconds.
    pub strip: Strip,
    /// Whether the run is over.
    pub over: bool,
}

/// One process at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// Its number, from 1.
    pub process: u32,
    /// `up`, `down`, `stopped`, or `unknown` to whoever tells.
    pub life: &'static str,
    /// `outside`, `waiting` or `inside`.
    pub lock: &'static str,
    /// For how long it waits or is inside, in milliseconds.
    pub for_ms: Option<f64>,
    /// The fence of its entry, while it is inside.
    pub fence: Option<String>,
    /// The number of whom it believes to lead, and of the term.
    pub leader: Option<(u32, u64)>,
    /// The numbers of whom it suspects.
    pub suspects: Vec<u32>,
    /// How often it entered.
    pub entries: u64,
    /// How often of late, in a second.
    pub entries_per_second: f64,
    /// How many messages it sent.
    pub messages: u64,
    /// How many of late, in a second.
    pub messages_per_second: f64,
    /// How many of its accesses the resource refused.
    pub refused: u64,
}

impl View {
    /// A view of a group of this size, of which nothing is known yet.
    pub fn new(size: u32) -> Self {
        View {
            start: None,
            processes: vec![Watched::default(); size as usize],
            fence: None,
            refused: 0,
            refusal: None,
            term: None,
            latest: Latest::default(),
            belt: Belt::default(),
            counted: VecDeque::new(),
            over: false,
        }
    }

    /// Takes note of a record. Those of one file come in its order; files need not be merged.
    pub fn read(&mut self, record: &Record) {
        self.start.get_or_insert(record.time);
        match record.process {
            Who::Process(at) if at.index() < self.processes.len() => self.of_process(at, record),
            Who::Resource => {
                if let Kind::Access(access) = &record.kind {
                    self.accessed(access, record);
                }
            }
            Who::Process(_) => {}
            Who::Parent => match &record.kind {
                Kind::End => {
                    self.over = true;
                    self.tell(record, "end", None);
                }
                Kind::Partition(_) => self.tell(record, "partition", None),
                Kind::Heal => self.tell(record, "heal", None),
                _ => {}
            },
        }
    }

    /// So many messages were sent and entries made that nobody looks at one by one.
    pub(super) fn pass_over(&mut self, who: Who, (messages, entries): (u64, u64)) {
        let Who::Process(at) = who else { return };
        let Some(process) = self.processes.get_mut(at.index()) else { return };
        process.messages += messages;
        process.entries += entries;
        process.lock = Lock::Outside;
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let start = self.start.unwrap_or(record.time);
        let process = &mut self.processes[at.index()];
        match &record.kind {
            Kind::Boot | Kind::Recover => return self.booted(at, record),
            Kind::Crash => return self.crashed(at, record),
            Kind::Stop => {
                process.life = Life::Stopped(record.time);
                self.tell(record, "stop", Some(at));
            }
            Kind::Continue => {
                self.end_life(at, record.time);
                self.processes[at.index()].life = Life::Up;
                self.tell(record, "continue", Some(at));
            }
            Kind::Suspicion { peer, verdict } => {
                let changed = match verdict {
                    Verdict::Suspect => process.suspected.insert(peer.number()),
                    Verdict::Trust => process.suspected.remove(&peer.number()),
                };
                if changed {
                    self.tell(record, "suspicion", Some(at));
                }
            }
            Kind::Command(asked) if asked.mutex() == Some(&mutex::Command::Enter) => {
                process.lock = Lock::Waiting(record.time);
            }
            Kind::Event(told) => self.told(at, told, record),
            Kind::Send(passage) => {
                process.messages += 1;
                self.belt.send(at, record.session, passage, record.time);
            }
            Kind::Receive(passage) => self.belt.receive(at, passage, record.time, start),
            Kind::Drop(passage) => self.belt.lose(at, passage, record.time, start),
            _ => {}
        }
        let process = &mut self.processes[at.index()];
        process.session = process.session.max(record.session);
        if process.life == Life::Unknown {
            process.life = Life::Up;
        }
    }

    /// The process booted; both it and its parent may say so.
    fn booted(&mut self, at: ProcessId, record: &Record) {
        let process = &self.processes[at.index()];
        if process.session == record.session && process.life == Life::Up {
            return;
        }
        let begins = process.session == 0 && process.life == Life::Unknown;
        self.end_life(at, record.time);
        self.forget(at, record.time);
        let process = &mut self.processes[at.index()];
        (process.life, process.session) = (Life::Up, record.session);
        self.tell(record, if begins { "boot" } else { "recover" }, Some(at));
    }

    /// The process crashed. If it is back already, that was written down late.
    fn crashed(&mut self, at: ProcessId, record: &Record) {
        if record.session >= self.processes[at.index()].session {
            self.end_life(at, record.time);
            self.forget(at, record.time);
            self.processes[at.index()].life = Life::Down(record.time);
        }
        self.tell(record, "crash", Some(at));
    }

    /// What does not outlive a crash.
    fn forget(&mut self, at: ProcessId, now: u64) {
        self.end_lock(at, now, true);
        self.end_lead(at, now);
        let process = &mut self.processes[at.index()];
        process.belief = None;
        process.suspected.clear();
    }

    fn told(&mut self, at: ProcessId, told: &Told, record: &Record) {
        match (told.mutex(), told.election()) {
            (Some(mutex::Event::Entered { fence }), _) => {
                self.end_lock(at, record.time, false);
                let process = &mut self.processes[at.index()];
                process.entries += 1;
                process.lock = Lock::Inside(record.time, *fence);
                self.fence = self.fence.max(Some((*fence, at)));
            }
            (Some(mutex::Event::Exited), _) => self.end_lock(at, record.time, false),
            (_, Some(election::Event::Elected { leader, term })) => {
                self.end_lead(at, record.time);
                let term = Term { leader: *leader, ..*term };
                let process = &mut self.processes[at.index()];
                process.belief = Some(term);
                process.leads_since = (*leader == at).then_some(record.time);
                if self.term < Some(term) {
                    self.term = Some(term);
                    let says = format!("{leader} leads in term {}", term.number);
                    let time = millis(record.time, self.start.unwrap_or(0));
                    self.latest.tell(time, "elected", Some(*leader), says);
                }
            }
            (_, Some(election::Event::Deposed { .. })) => {
                self.end_lead(at, record.time);
                self.processes[at.index()].belief = None;
            }
            _ => {}
        }
    }

    fn accessed(&mut self, access: &Access, record: &Record) {
        if access.accepted {
            return;
        }
        self.refused += 1;
        if let Some(process) = self.processes.get_mut(access.by.index()) {
            process.refused += 1;
        }
        self.refusal = Some((record.time, *access));
        self.tell(record, "refused", Some(access.by));
    }

    fn tell(&mut self, record: &Record, kind: &'static str, process: Option<ProcessId>) {
        let at = millis(record.time, self.start.unwrap_or(record.time));
        self.latest.tell(at, kind, process, Words(record).to_string());
    }

    /// What a process did with the lock is over; a wait that was cut short was none.
    fn end_lock(&mut self, process: ProcessId, now: u64, cut_short: bool) {
        let lock = std::mem::take(&mut self.processes[process.index()].lock);
        let (what, from) = match lock {
            Lock::Outside => return,
            Lock::Waiting(_) if cut_short => return,
            Lock::Waiting(since) => ("waiting", since),
            Lock::Inside(since, _) => ("inside", since),
        };
        self.belt.end(Span { process, what, from, until: Some(now) });
    }

    fn end_lead(&mut self, process: ProcessId, now: u64) {
        if let Some(from) = self.processes[process.index()].leads_since.take() {
            self.belt.end(Span { process, what: "leading", from, until: Some(now) });
        }
    }

    fn end_life(&mut self, process: ProcessId, now: u64) {
        let (what, from) = match self.processes[process.index()].life {
            Life::Down(since) => ("down", since),
            Life::Stopped(since) => ("stopped", since),
            Life::Unknown | Life::Up => return,
        };
        self.belt.end(Span { process, what, from, until: Some(now) });
    }

    /// What is known at this moment, in nanoseconds since 1970.
    pub fn snapshot(&mut self, now: u64) -> Snapshot {
        let start = *self.start.get_or_insert(now);
        let rates = self.rates(now);
        let open = self.open();
        let strip = self.belt.cut(now, start, open);
        let sum = |each: fn(&Watched) -> u64| self.processes.iter().map(each).sum();
        let processes: Vec<Process> =
            (0..self.processes.len()).map(|place| self.process(place, now, rates[place])).collect();
        Snapshot {
            now: millis(now, start),
            leader: self.leader(),
            fence: self.fence.map(|(fence, at)| (fence.to_string(), at.number())),
            entries: sum(|process| process.entries),
            entries_per_second: tenths(rates.iter().map(|rate| rate.0).sum()),
            messages: sum(|process| process.messages),
            messages_per_second: tenths(rates.iter().map(|rate| rate.1).sum()),
            refused: self.refused,
            last_refused: self.refusal.as_ref().map(|(time, access)| {
                let says = Words(&Record::new(*time, Who::Resource, Kind::Access(*access)));
                (says.to_string(), millis(*time, start))
            }),
            news: self.latest.all(),
            strip,
            over: self.over,
            processes,
        }
    }

    /// What still lasts.
    fn open(&self) -> Vec<Span> {
        let mut open = Vec::new();
        for (place, watched) in self.processes.iter().enumerate() {
            let process = ProcessId::at(place);
            let mut add = |what, from| open.push(Span { process, what, from, until: None });
            match watched.lock {
                Lock::Waiting(since) => add("waiting", since),
                Lock::Inside(since, _) => add("inside", since),
                Lock::Outside => {}
            }
            match watched.life {
                Life::Down(since) => add("down", since),
                Life::Stopped(since) => add("stopped", since),
                Life::Unknown | Life::Up => {}
            }
            watched.leads_since.into_iter().for_each(|since| add("leading", since));
        }
        open
    }

    /// Whom the live believe to lead, if whoever that is lives: the latest term counts.
    fn leader(&self) -> Option<(u32, u64)> {
        let live = self.processes.iter().filter(|it| !matches!(it.life, Life::Down(_)));
        let term = live.filter_map(|watched| watched.belief).max()?;
        let leads = self.processes.get(term.leader.index())?;
        (!matches!(leads.life, Life::Down(_))).then_some((term.leader.number(), term.number))
    }

    fn process(&self, place: usize, now: u64, rate: (f64, f64)) -> Process {
        let watched = &self.processes[place];
        let passed = |since| Some(millis(now, since));
        let (lock, for_ms, fence) = match watched.lock {
            Lock::Outside => ("outside", None, None),
            Lock::Waiting(since) => ("waiting", passed(since), None),
            Lock::Inside(since, fence) => ("inside", passed(since), Some(fence.to_string())),
        };
        Process {
            process: ProcessId::at(place).number(),
            life: match watched.life {
                Life::Unknown => "unknown",
                Life::Up => "up",
                Life::Down(_) => "down",
                Life::Stopped(_) => "stopped",
            },
            lock,
            for_ms,
            fence,
            leader: watched.belief.map(|term| (term.leader.number(), term.number)),
            suspects: watched.suspected.iter().copied().collect(),
            entries: watched.entries,
            entries_per_second: tenths(rate.0),
            messages: watched.messages,
            messages_per_second: tenths(rate.1),
            refused: watched.refused,
        }
    }

    /// Entries and messages in a second, by process.
    fn rates(&mut self, now: u64) -> Vec<(f64, f64)> {
        let counts: Vec<(u64, u64)> =
            self.processes.iter().map(|process| (process.entries, process.messages)).collect();
        while self.counted.len() > 1 && self.counted[1].0 + RATED <= now {
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

fn tenths(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}
