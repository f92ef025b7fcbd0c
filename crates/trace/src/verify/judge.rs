use tenure_core::monitors::{
    Agreement, Bypass, Fencing, MutualExclusion, NoLoss, OneLeader, Order, Scope,
};
use tenure_core::service::{election, mutex};
use tenure_core::{Fence, Monitor, Observed, ProcessId, Property, VectorClock};

use super::elections::Elections;
use super::entries::Entries;
use super::findings::Findings;
use super::resource::Resource;
use super::watched::{Found, Watched};
use super::{Counter, Quantiles, Traffic, Verification};
use crate::standing::{Change, Hold, Standings};
use crate::{Asked, ClockUnit, Header, Kind, Record, Service, Told, Who};

/// How long after the last disturbance of a real run its end says something, in nanoseconds.
const SETTLING_NANOSECONDS: u64 = 3_000_000_000;

/// Reads a trace record by record and says in the end what it thinks of it.
///
/// Records of processes outside of the group are passed over.
#[derive(Clone, Debug)]
pub struct Judge {
    header: Header,
    records: u64,
    start: Option<u64>,
    /// The time of the last record.
    now: u64,
    standings: Standings,
    entries: Entries,
    elections: Elections,
    resource: Resource,
    traffic: Traffic,
    mutual_exclusion: Watched<MutualExclusion>,
    fencing: Watched<Fencing>,
    order: Watched<Order>,
    /// Whether any request had a vector clock.
    clocks: bool,
    bypass: Bypass,
    agreement: Watched<Agreement>,
    one_leader: Watched<OneLeader>,
    one_per_term: Watched<OneLeader>,
    no_loss: Watched<NoLoss>,
    crashes: u64,
    /// When something last happened after which a group needs time to agree again.
    disturbed: u64,
    ending: Option<Ending>,
}

/// What held when the run was over.
#[derive(Clone, Debug)]
struct Ending {
    /// Too little time has passed for the group to agree again.
    restless: bool,
    agreement: Option<Found>,
    no_loss: Option<Found>,
}

impl Judge {
    /// A judge of the trace with this header, before the first record.
    pub fn new(header: &Header) -> Self {
        Judge {
            header: header.clone(),
            records: 0,
            start: None,
            now: 0,
            standings: Standings::default(),
            entries: Entries::new(header.most_inside, header.fenced),
            elections: Elections::new(header.n),
            resource: Resource::default(),
            traffic: Traffic::default(),
            mutual_exclusion: Watched::new(MutualExclusion::at_most(header.most_inside)),
            fencing: Watched::new(Fencing::new()),
            order: Watched::new(Order::new()),
            clocks: false,
            bypass: Bypass::unbounded(),
            agreement: Watched::new(Agreement::new()),
            one_leader: Watched::new(OneLeader::new(Scope::Overall)),
            one_per_term: Watched::new(OneLeader::new(Scope::PerTerm)),
            no_loss: Watched::new(NoLoss::new()),
            crashes: 0,
            disturbed: 0,
            ending: None,
        }
    }

    /// Reads the next record.
    pub fn read(&mut self, record: &Record) {
        self.records += 1;
        self.now = record.time;
        if self.start.is_none() {
            self.start = Some(record.time);
            self.elections.started(record.time);
        }
        match (record.process, &record.kind) {
            (_, Kind::Access(access)) => self.resource.read(record.time, access),
            (Who::Parent, Kind::End) => self.end(),
            (_, Kind::Partition(_) | Kind::Heal) => self.disturbed = record.time,
            (Who::Process(at), _) if at.0 < self.header.n => self.of_process(at, record),
            _ => {}
        }
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let changes = self.standings.read(record);
        if let [Change::Ends(Hold::Waiting, since), Change::Begins(Hold::Inside)] = changes[..] {
            self.entries.latency.push(record.time.saturating_sub(since));
        }
        for change in changes {
            self.crashes += u64::from(change == Change::Crashes);
            self.changed(at, change);
        }
        match &record.kind {
            Kind::Command(asked) => self.asked(at, asked, record.clock.as_ref()),
            Kind::Event(told) => self.told(at, told),
            Kind::Send(_) | Kind::Receive(_) => {
                self.traffic.read(at, &record.kind);
                self.entries.passage(at, record);
            }
            Kind::Drop(_) | Kind::Duplicate(_) => self.traffic.read(at, &record.kind),
            Kind::Suspicion { .. } => self.disturbed = record.time,
            _ => {}
        }
    }

    fn changed(&mut self, at: ProcessId, change: Change) {
        match change {
            Change::Crashes | Change::Leaves => {
                self.entries.left(at);
                self.mutex(at, Observed::Crashed);
                self.election(at, Observed::Crashed);
                self.no_loss.observe(self.now, at, Observed::Crashed);
            }
            Change::Recovers => {
                self.mutex(at, Observed::Recovered);
                self.election(at, Observed::Recovered);
                self.no_loss.observe(self.now, at, Observed::Recovered);
            }
            Change::Begins(Hold::Stopped) | Change::Ends(Hold::Stopped, _) => {}
            Change::Believes(_) => {}
            _ => return,
        }
        self.disturbed = self.now;
        if self.ending.is_none() {
            self.elections.changed(self.now, at, change);
        }
    }

    fn asked(&mut self, at: ProcessId, asked: &Asked, clock: Option<&VectorClock>) {
        if let Some(command) = asked.mutex() {
            self.clocks |= clock.is_some();
            self.mutex(at, Observed::Command { command, clock });
        }
        if let Some(command) = asked.election() {
            self.election(at, Observed::Command { command, clock });
        }
        if let Asked::Stream(command) = asked {
            self.no_loss.observe(self.now, at, Observed::Command { command, clock });
        }
    }

    fn told(&mut self, at: ProcessId, told: &Told) {
        if let Some(event) = told.mutex()
            && !self.standings.of(at).is_down()
        {
            self.entries.told(self.now, at, *event);
            self.mutex(at, Observed::Event(event));
        }
        if let Some(event) = told.election() {
            self.election(at, Observed::Event(event));
        }
        if let Told::Stream(event) = told {
            self.no_loss.observe(self.now, at, Observed::Event(event));
        }
    }

    fn mutex(&mut self, at: ProcessId, seen: Observed<'_, mutex::Command, mutex::Event>) {
        self.mutual_exclusion.observe(self.now, at, seen);
        self.fencing.observe(self.now, at, seen);
        self.order.observe(self.now, at, seen);
        // Unbounded, it only measures.
        let _ = self.bypass.observe(at, seen);
    }

    fn election(&mut self, at: ProcessId, seen: Observed<'_, election::Command, election::Event>) {
        self.agreement.observe(self.now, at, seen);
        self.one_leader.observe(self.now, at, seen);
        self.one_per_term.observe(self.now, at, seen);
    }

    /// The run is over. What nodes do while they are ended, one after another, is not judged as
    /// an ending.
    fn end(&mut self) {
        let settling = match self.header.clock {
            ClockUnit::Tick => 0,
            ClockUnit::Nanosecond => SETTLING_NANOSECONDS,
        };
        let calm = self.now.saturating_sub(self.disturbed) >= settling;
        self.ending.get_or_insert(Ending {
            restless: !calm || !self.standings.who(Hold::Stopped).is_empty(),
            agreement: self.agreement.at_end(self.now),
            no_loss: self.no_loss.at_end(self.now),
        });
    }

    /// What is thought of the trace. Which files were torn or empty is for whoever read them to
    /// add.
    pub fn finish(self) -> Verification {
        let mut findings = Findings::new(&self.header, self.start.unwrap_or(self.now));
        if matches!(self.header.service, Service::Mutex | Service::Office) {
            self.judge_entries(&mut findings);
        }
        if matches!(self.header.service, Service::Election | Service::Office) {
            findings.judge(Property::OneLeaderAtATime, self.one_leader.found());
            findings.judge(Property::OneLeaderPerTerm, self.one_per_term.found());
            let end = |ending: &Ending| (ending.restless, ending.agreement.clone());
            findings.judge_end(
                Property::Agreement,
                self.agreement.found(),
                self.ending.as_ref().map(end),
            );
        }
        if self.header.service == Service::Stream {
            let end = |ending: &Ending| (ending.restless, ending.no_loss.clone());
            findings.judge_end(
                Property::NoLoss,
                self.no_loss.found(),
                self.ending.as_ref().map(end),
            );
        }
        if self.resource.seen() {
            self.judge_resource(&mut findings);
        }
        let elections = self.elections.held.iter().map(|held| findings.election(held)).collect();
        let overlaps = self.entries.overlapping.len() as u64;
        let mut latencies = self.entries.latency.clone();
        latencies.sort_unstable();
        Verification {
            records: self.records,
            duration: findings.since_start(self.now),
            entries: self.entries.total,
            latency: Quantiles::of(&latencies),
            latencies,
            waiting: self.standings.who(Hold::Waiting),
            inside: self.standings.who(Hold::Inside),
            elections,
            messages: self.traffic,
            accesses: self.resource.accesses,
            counter: self.resource.counter(),
            overlaps,
            late: self.entries.late,
            bypass_max: self.bypass.worst(),
            crashes: self.crashes,
            ..findings.into_verification()
        }
    }

    /// Where a resource checks fences, only what it let in counts; else every overlap does.
    fn judge_entries(&self, findings: &mut Findings) {
        let checked = self.header.fenced && self.resource.seen();
        if checked {
            let let_in = |pair: &&(Fence, Fence, u64)| self.resource.let_in(pair.0, pair.1);
            let found =
                self.entries.overlapping.iter().find(let_in).map(|(lower, higher, time)| {
                    let says = format!(
                        "the entries with fences {lower} and {higher} overlapped, and the resource \
                     accepted an access with {lower} after one with {higher}"
                    );
                    Found { time: *time, says }
                });
            findings.judge(Property::MutualExclusion, found.as_ref());
            findings.judge(Property::Fencing, self.entries.fence_went_back());
        } else {
            findings.judge(
                match self.header.most_inside {
                    1 => Property::MutualExclusion,
                    most => Property::AtMost(most),
                },
                self.mutual_exclusion.found(),
            );
            if self.header.fenced {
                findings.judge(Property::Fencing, self.fencing.found());
            }
        }
        if self.clocks {
            findings.judge(Property::Order, self.order.found());
        }
    }

    fn judge_resource(&self, findings: &mut Findings) {
        if self.header.fenced {
            findings.judge(Property::FencedAccess, self.resource.stale.as_ref());
        }
        let lost = self.resource.counter().filter(|counter| counter.lost != 0);
        let found = lost.map(|Counter { expected, found, lost }| Found {
            time: self.now,
            says: format!("{expected} increments came to {found}: {lost} lost"),
        });
        findings.judge(Property::Counter, found.as_ref());
    }
}
