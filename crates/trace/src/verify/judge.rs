use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::monitors::{Neighbours, NoLoss, Spending};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Charge, ElectionJury, Finding, Judgement, Juror, MutexJury, Observed, OfElection, OfMutex, Per,
    ProcessId, Property, VectorClock,
};

use super::agreements::Agreements;
use super::applications::Applications;
use super::elections::Elections;
use super::entries::Entries;
use super::findings::{Findings, Found};
use super::resource::Resource;
use super::{Counter, Traffic, Verification};
use crate::Service;
use crate::fold::standing::{Change, Hold, Life, Standings};
use crate::format::{Asked, ClockUnit, Header, Kind, Record, Told, Who};
use crate::merge::Seams;

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
    locks: MutexJury,
    elects: ElectionJury,
    /// Who awaits the result of an election.
    awaiting: BTreeSet<ProcessId>,
    no_loss: Juror<NoLoss>,
    /// Where the header says what an entry or an election may take.
    spending: Option<Juror<Spending>>,
    /// Where it says who may send to whom.
    neighbours: Option<Juror<Neighbours>>,
    applications: Applications,
    agreements: Agreements,
    /// Whether any request had a vector clock.
    clocks: bool,
    crashes: u64,
    /// When something last happened after which a group needs time to agree again.
    disturbed: u64,
    ended: bool,
}

impl Judge {
    /// A judge of the trace with this header, before the first record.
    pub fn new(header: &Header) -> Self {
        let charge = Charge {
            size: header.n,
            most_inside: header.most_inside,
            fenced: header.fenced,
            strict: true,
            bypass_bounds: header.most_bypass.into_iter().collect(),
            clocks: true,
            ranks: header.ranks.clone().map(Arc::from),
            down: Vec::new(),
        };
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
            locks: MutexJury::new(&charge),
            elects: ElectionJury::new(&charge),
            awaiting: (0..header.n).map(ProcessId).collect(),
            no_loss: Juror::new(NoLoss::new()),
            spending: header.most_messages.map(|most| spending(header.service, most)),
            neighbours: header.topology.map(|ring| Juror::new(Neighbours::of(ring, header.n))),
            applications: Applications::new(),
            agreements: Agreements::new(header.service, &charge),
            clocks: false,
            crashes: 0,
            disturbed: 0,
            ended: false,
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
            (_, Kind::Partition(sides)) => self.parted(sides),
            (_, Kind::Heal) => self.parted(&[]),
            (Who::Process(at), _) if at.0 < self.header.n => self.of_process(at, record),
            _ => {}
        }
    }

    /// The network fell into these sides, or, if there are none, is whole again.
    fn parted(&mut self, sides: &[Vec<ProcessId>]) {
        self.disturbed = self.now;
        if !self.ended {
            self.elections.parted(self.now, sides);
        }
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let changes = self.standings.read(record);
        if let [Change::Ends(Hold::Waiting, since), Change::Begins(Hold::Inside)] = changes[..] {
            self.entries.latency.add(record.time.saturating_sub(since));
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
                self.sends(at, &record.kind);
            }
            Kind::Drop(_) | Kind::Duplicate(_) => self.traffic.read(at, &record.kind),
            Kind::Suspicion { .. } => self.disturbed = record.time,
            _ => {}
        }
    }

    fn sends(&mut self, at: ProcessId, kind: &Kind) {
        let Kind::Send(passage) = kind else { return };
        if self.header.service.layer() != Some(passage.layer) {
            return;
        }
        let sent = OfMutex::Sent { to: passage.peer };
        if let Some(spending) = &mut self.spending {
            spending.observe(self.now, at, sent);
        }
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.observe(self.now, at, sent);
        }
    }

    fn changed(&mut self, at: ProcessId, change: Change) {
        match change {
            Change::Crashes | Change::Leaves => {
                self.entries.left(at);
                self.awaiting.remove(&at);
                self.locks.crashed(self.now, at);
                self.elects.observe(self.now, at, Observed::Crashed);
                self.no_loss.observe(self.now, at, Observed::Crashed);
                self.applications.crashed(self.now, at);
                self.agreements.crashed(self.now, at);
            }
            Change::Recovers => {
                self.locks.recovered(self.now, at);
                self.elects.observe(self.now, at, Observed::Recovered);
                self.no_loss.observe(self.now, at, Observed::Recovered);
                self.agreements.recovered(self.now, at);
            }
            Change::Begins(Hold::Stopped) | Change::Ends(Hold::Stopped, _) => {}
            Change::Believes(_) => {}
            _ => return,
        }
        self.disturbed = self.now;
        if !self.ended {
            self.elections.changed(self.now, at, change);
        }
    }

    fn asked(&mut self, at: ProcessId, asked: &Asked, clock: Option<&VectorClock>) {
        if let Some(command) = asked.mutex() {
            self.clocks |= clock.is_some();
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, OfMutex::Command { command, clock });
            }
            if *command == mutex::Command::Enter {
                self.locks.requested(self.now, at, clock.map(|clock| [clock, clock]));
            }
        }
        if let Some(command) = asked.election() {
            self.awaiting.insert(at);
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, OfElection::Command { command, clock });
            }
            self.elects.observe(self.now, at, Observed::Command { command, clock });
        }
        if let Asked::Stream(command) = asked {
            self.no_loss.observe(self.now, at, Observed::Command { command, clock });
        }
        if let Asked::Agreement(command) = asked {
            self.agreements.asked(self.now, at, command);
        }
    }

    fn told(&mut self, at: ProcessId, told: &Told) {
        if let Some(event) = told.mutex()
            && !self.standings.of(at).is_down()
        {
            for pair in self.entries.told(self.now, at, *event) {
                self.resource.overlap(pair);
            }
            self.locks.told(self.now, at, event);
        }
        if let Some(event) = told.election() {
            match event {
                election::Event::Elected { .. } => self.awaiting.remove(&at),
                election::Event::Deposed { .. } => self.awaiting.insert(at),
            };
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, OfElection::Event(event));
            }
            self.elects.observe(self.now, at, Observed::Event(event));
        }
        if let Told::Stream(event) = told {
            self.no_loss.observe(self.now, at, Observed::Event(event));
        }
        if let Told::Agreement(event) = told {
            self.agreements.told(self.now, at, event);
        }
        if let Some(event) = told.application() {
            self.applications.told(self.now, at, event);
        }
    }

    /// The run is over. What nodes do while they are ended, one after another, is not judged as
    /// an ending.
    fn end(&mut self) {
        let settling = match self.header.clock {
            ClockUnit::Tick => 0,
            ClockUnit::Nanosecond => SETTLING_NANOSECONDS,
        };
        let calm = self.now.saturating_sub(self.disturbed) >= settling;
        let calm = calm && self.standings.who(Hold::Stopped).is_empty();
        self.ended = true;
        self.elects.end(self.now, calm);
        self.no_loss.end(self.now, calm);
        self.agreements.end(self.now, calm);
    }

    /// How much is held that may become more as the trace goes on: of each kind there is a limit,
    /// so that a run of days takes the memory of one of minutes.
    pub fn held(&self) -> usize {
        self.entries.held() + self.resource.held() + self.elections.held.len()
    }

    /// What is thought of a trace that was put together from several.
    pub fn finish_with(self, seams: Seams) -> Verification {
        let mut verification = self.finish();
        let Seams { unmatched, contradictions, torn, empty } = seams;
        if contradictions > 0 {
            verification.contradicts_itself();
        }
        Verification { unmatched, contradictions, torn, empty, ..verification }
    }

    /// What is thought of the trace. Which files were torn or empty is for whoever read them to
    /// add.
    pub fn finish(self) -> Verification {
        let mut findings = Findings::new(&self.header, self.start.unwrap_or(self.now));
        if matches!(self.header.service, Service::Mutex | Service::Office) {
            self.judge_entries(&mut findings);
        }
        if matches!(self.header.service, Service::Election | Service::Office) {
            let asked = |it: &Finding| match it.property {
                Property::Uniqueness
                | Property::Irrevocability
                | Property::FreshTerms
                | Property::SteadyLeader => findings.is_named(it.property),
                _ => true,
            };
            let found: Vec<Finding> = self.elects.findings().into_iter().filter(asked).collect();
            found.into_iter().for_each(|finding| findings.put(finding));
        }
        if self.header.service == Service::Stream {
            findings.put(self.no_loss.finding());
        }
        if let Some(spending) = &self.spending {
            findings.put(spending.finding::<mutex::Command, mutex::Event>());
        }
        if let Some(neighbours) = &self.neighbours {
            findings.put(neighbours.finding::<mutex::Command, mutex::Event>());
        }
        self.applications.findings().for_each(|finding| findings.put(finding));
        self.agreements.findings().into_iter().for_each(|finding| findings.put(finding));
        if self.ended {
            self.judge_waits(&mut findings);
        }
        if self.resource.seen() {
            self.judge_resource(&mut findings);
        }
        let elections = self.elections.held.iter().map(|held| findings.election(held)).collect();
        Verification {
            records: self.records,
            duration: findings.since_start(self.now),
            entries: self.entries.total,
            latency: self.entries.latency.quantiles(),
            waiting: self.standings.who(Hold::Waiting),
            inside: self.standings.who(Hold::Inside),
            elections,
            messages: self.traffic,
            accesses: self.resource.accesses,
            counter: self.resource.counter(),
            overlaps: self.entries.overlaps,
            late: self.entries.late,
            bypass_max: self.locks.bypass().worst(),
            crashes: self.crashes,
            ..findings.into_verification()
        }
    }

    /// Where a resource checks fences, only what it let in counts; else every overlap does.
    fn judge_entries(&self, findings: &mut Findings) {
        let checked = self.header.fenced && self.resource.seen();
        if checked {
            findings.judge(Property::MutualExclusion, self.resource.let_in().as_ref());
            findings.judge(Property::Fencing, self.entries.fence_went_back());
        }
        for finding in self.locks.findings() {
            let judged = match finding.property {
                Property::MutualExclusion if checked => false,
                Property::MutualExclusion if self.header.most_inside == 1 => true,
                Property::Fencing => !checked,
                Property::AtMost(_) | Property::Bypass(_) => true,
                Property::Order if self.clocks => true,
                property => findings.is_named(property),
            };
            if judged {
                findings.put(finding);
            }
        }
    }

    /// Judges the processes that wait at the end of a run in which nothing was left to do.
    fn judge_waits(&self, findings: &mut Findings) {
        let is_lock = matches!(self.header.service, Service::Mutex | Service::Office);
        let says = |number| format!("P{number} waits for ever");
        let found = |number| Found { time: self.now, says: says(number) };
        if !is_lock {
            if findings.is_named(Property::Progress) {
                findings.judge(Property::Progress, self.uninformed().map(found).as_ref());
            }
            return;
        }
        let waits = self.standings.who(Hold::Waiting).first().copied();
        let is_free = self.standings.who(Hold::Inside).is_empty();
        for property in [Property::DeadlockFreedom, Property::StarvationFreedom] {
            if !findings.is_named(property) {
                continue;
            }
            match waits {
                // Whoever is inside has yet to leave.
                Some(_) if !is_free => {
                    findings.put(Finding::undisputed(property, Judgement::Incomplete));
                }
                waits => findings.judge(property, waits.map(found).as_ref()),
            }
        }
    }

    /// The first process that is up and was not told what it awaits.
    fn uninformed(&self) -> Option<u32> {
        let is_up = |at: ProcessId| self.standings.of(at).life == Life::Up;
        let first = match self.header.service.is_agreement() {
            true => self.agreements.waiting(is_up).first().copied(),
            false => self.awaiting.iter().find(|at| is_up(**at)).copied(),
        };
        first.map(ProcessId::number)
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

/// Who judges what entries or elections take.
fn spending(service: Service, most: u64) -> Juror<Spending> {
    let per = if service == Service::Election { Per::Election } else { Per::Entry };
    Juror::new(Spending::at_most(per, most))
}
