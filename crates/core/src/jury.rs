//! The monitors of a service, each up to its first violation, and what they found.

use core::fmt;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::card::Service;
use crate::clock::VectorClock;
use crate::monitor::{Monitor, Observed, OfElection, OfMutex};
use crate::monitors::{
    Agreement, AnyAgreement, BypassMeter, Fencing, FreshTerms, Irrevocability, MutualExclusion,
    OneLeader, Order, Scope, SteadyLeader, Uniqueness, Validity,
};
use crate::process::ProcessId;
use crate::property::Property;
use crate::rank::Rank;
use crate::service::{agreement, mutex};

/// What is known of a property. One run never *proves* one: others may say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Judgement {
    /// Nothing contradicts it: in this run, or in every one within the bounds of a check.
    Holds,
    /// Something does.
    Violated,
    /// It was not decided: a run or a search was cut short, or ended too soon.
    Incomplete,
}

impl Judgement {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Judgement::Holds => "holds",
            Judgement::Violated => "violated",
            Judgement::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The judgement on one property, with the first violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The property.
    pub property: Property,
    /// The judgement.
    pub judgement: Judgement,
    /// The first violation.
    pub violation: Option<FirstViolation>,
}

/// Where and when a property was first violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstViolation {
    /// When, as the engine counts time.
    pub time: u64,
    /// Where the last straw fell.
    pub at: ProcessId,
    /// What happened, in a sentence.
    pub says: String,
}

impl Finding {
    /// A property is violated.
    pub fn violated(property: Property, time: u64, at: ProcessId, says: String) -> Self {
        let violation = Some(FirstViolation { time, at, says });
        Finding { property, judgement: Judgement::Violated, violation }
    }

    /// Nothing was seen that violates it.
    pub const fn undisputed(property: Property, judgement: Judgement) -> Self {
        Finding { property, judgement, violation: None }
    }
}

/// A monitor up to its first violation.
#[derive(Clone, Debug)]
pub struct Juror<M> {
    monitor: M,
    violation: Option<FirstViolation>,
    /// What it said of the end.
    ending: Option<Judgement>,
}

impl<M> Juror<M> {
    /// Before anything happened.
    pub const fn new(monitor: M) -> Self {
        Juror { monitor, violation: None, ending: None }
    }

    /// The monitor.
    pub const fn monitor(&mut self) -> &mut M {
        &mut self.monitor
    }

    /// Reads one thing; nothing any more after a violation.
    pub fn observe<C, E>(&mut self, time: u64, at: ProcessId, seen: Observed<'_, C, E>)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_none()
            && let Err(violation) = self.monitor.observe(at, seen)
        {
            self.violation = Some(FirstViolation { time, at: violation.at, says: violation.says });
        }
    }

    /// The run has ended. What is wrong then counts if it was `calm`: if there had been time to
    /// put it right.
    pub fn end<C, E>(&mut self, time: u64, calm: bool)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_some() || self.ending.is_some() {
            return;
        }
        self.ending = Some(match self.monitor.at_end() {
            Ok(()) => Judgement::Holds,
            Err(violation) if calm => {
                let (at, says) = (violation.at, violation.says);
                self.violation = Some(FirstViolation { time, at, says });
                Judgement::Violated
            }
            Err(_) => Judgement::Incomplete,
        });
    }

    /// What it found so far.
    pub fn finding<C, E>(&self) -> Finding
    where
        M: Monitor<C, E>,
    {
        let property = self.monitor.property();
        let judgement = match (&self.violation, self.ending) {
            (Some(_), _) => Judgement::Violated,
            (None, Some(ending)) => ending,
            (None, None) if property.is_of_the_end() => Judgement::Incomplete,
            (None, None) => Judgement::Holds,
        };
        Finding { property, judgement, violation: self.violation.clone() }
    }
}

/// What a jury has to know of a group before anything happens.
#[derive(Clone, Debug)]
pub struct Charge {
    /// How many processes there are.
    pub size: u32,
    /// How many may be inside at once.
    pub most_inside: u32,
    /// Whether entries carry fences.
    pub fenced: bool,
    /// Whether an entry that a crash does not end is judged too.
    pub strict: bool,
    /// The bounds on bypass that are judged.
    pub bypass_bounds: Vec<u32>,
    /// Whether requests come with vector clocks.
    pub clocks: bool,
    /// The rank of each process, empty where it is the number; nothing where it is not known.
    pub ranks: Option<Arc<[Rank]>>,
    /// Who is down from the start.
    pub down: Vec<ProcessId>,
}

/// Judges mutual exclusion by what users ask and are told.
#[derive(Clone, Debug)]
pub struct MutexJury {
    exclusion: Juror<MutualExclusion>,
    /// Of a lock that lets in several at once.
    at_most: Option<Juror<MutualExclusion>>,
    strict: Option<Juror<MutualExclusion>>,
    fencing: Option<Juror<Fencing>>,
    order: Option<Box<[Juror<Order>; 2]>>,
    bypass: BypassMeter,
    /// The bounds on bypass that are judged, each up to its first violation.
    bounds: Vec<(u32, Option<FirstViolation>)>,
}

impl MutexJury {
    /// Before anything happened.
    pub fn new(charge: &Charge) -> Self {
        let most = charge.most_inside;
        let orders = || [Order::new(), Order::with_messages()].map(Juror::new);
        MutexJury {
            exclusion: Juror::new(MutualExclusion::new()),
            at_most: (most > 1).then(|| Juror::new(MutualExclusion::at_most(most))),
            strict: charge.strict.then(|| Juror::new(MutualExclusion::strict())),
            fencing: charge.fenced.then(|| Juror::new(Fencing::new())),
            order: charge.clocks.then(|| Box::new(orders())),
            bypass: BypassMeter::new(charge.size),
            bounds: charge.bypass_bounds.iter().map(|bound| (*bound, None)).collect(),
        }
    }

    /// The user at `at` asks to enter; `clocks` by the protocol's messages and by all, where kept.
    pub fn requested(&mut self, time: u64, at: ProcessId, clocks: Option<[&VectorClock; 2]>) {
        self.bypass.requested(at);
        if let (Some(orders), Some(clocks)) = (&mut self.order, clocks) {
            let command = &mutex::Command::Enter;
            for (order, clock) in orders.iter_mut().zip(clocks) {
                order.observe(time, at, Observed::Command { command, clock: Some(clock) });
            }
        }
        // The others judge by what users are told, not by what they ask.
    }

    /// The user at `at` is told something.
    pub fn told(&mut self, time: u64, at: ProcessId, event: &mutex::Event) {
        if matches!(event, mutex::Event::Entered { .. })
            && let Some((waiter, times)) = self.bypass.entered(at)
        {
            let exceeded = self.bounds.iter_mut().filter(|(bound, _)| times > *bound);
            for (_, violation) in exceeded.filter(|(_, violation)| violation.is_none()) {
                let says = format!("{at} entered {times} times while {waiter} waited");
                *violation = Some(FirstViolation { time, at, says });
            }
        }
        self.each(time, at, Observed::Event(event));
    }

    /// A process crashed.
    pub fn crashed(&mut self, time: u64, at: ProcessId) {
        self.bypass.ended(at);
        self.each(time, at, Observed::Crashed);
    }

    /// A process came back.
    pub fn recovered(&mut self, time: u64, at: ProcessId) {
        self.each(time, at, Observed::Recovered);
    }

    /// How often others entered while one waited.
    pub const fn bypass(&self) -> &BypassMeter {
        &self.bypass
    }

    /// What was found so far.
    pub fn findings(&self) -> Vec<Finding> {
        let jurors = [Some(&self.exclusion), self.at_most.as_ref(), self.strict.as_ref()];
        let mut findings: Vec<Finding> = jurors.into_iter().flatten().map(Juror::finding).collect();
        findings.extend(self.order.iter().flat_map(|orders| orders.iter()).map(Juror::finding));
        findings.extend(self.bounds.iter().map(|(bound, violation)| {
            let judgement = match violation {
                Some(_) => Judgement::Violated,
                None => Judgement::Holds,
            };
            let (property, violation) = (Property::Bypass(Some(*bound)), violation.clone());
            Finding { property, judgement, violation }
        }));
        findings.extend(self.fencing.as_ref().map(Juror::finding));
        findings
    }

    fn each(&mut self, time: u64, at: ProcessId, seen: OfMutex<'_>) {
        for order in self.order.iter_mut().flat_map(|orders| orders.iter_mut()) {
            order.observe(time, at, seen);
        }
        self.exclusion.observe(time, at, seen);
        for juror in [&mut self.at_most, &mut self.strict].into_iter().flatten() {
            juror.observe(time, at, seen);
        }
        if let Some(fencing) = &mut self.fencing {
            fencing.observe(time, at, seen);
        }
    }
}

/// Judges elections by what users ask and are told.
#[derive(Clone, Debug)]
pub struct ElectionJury {
    agreement: Juror<Agreement>,
    validity: Option<Juror<Validity>>,
    uniqueness: Juror<Uniqueness>,
    irrevocability: Juror<Irrevocability>,
    overall: Juror<OneLeader>,
    per_term: Juror<OneLeader>,
    fresh: Juror<FreshTerms>,
    steady: Juror<SteadyLeader>,
}

impl ElectionJury {
    /// Before anything happened.
    pub fn new(charge: &Charge) -> Self {
        let Charge { size, ranks, down, .. } = charge;
        let validity = |ranks: &Arc<[Rank]>| Validity::of(*size, ranks.clone()).without(down);
        ElectionJury {
            agreement: Juror::new(Agreement::new()),
            validity: ranks.as_ref().map(|ranks| Juror::new(validity(ranks))),
            uniqueness: Juror::new(Uniqueness::new()),
            irrevocability: Juror::new(Irrevocability::new(*size)),
            overall: Juror::new(OneLeader::new(Scope::Overall)),
            per_term: Juror::new(OneLeader::new(Scope::PerTerm)),
            fresh: Juror::new(FreshTerms::new()),
            steady: Juror::new(SteadyLeader::of(*size)),
        }
    }

    /// Something happened that users are not told of and that may rightly start another election:
    /// a suspicion.
    pub fn upset(&mut self) {
        self.irrevocability.monitor().upset();
    }

    /// Something was asked or told, or a process crashed or came back.
    pub fn observe(&mut self, time: u64, at: ProcessId, seen: OfElection<'_>) {
        self.irrevocability.observe(time, at, seen);
        if let Observed::Command { .. } = seen {
            // The others judge by what users are told, not by what they ask.
            return;
        }
        self.agreement.observe(time, at, seen);
        if let Some(validity) = &mut self.validity {
            validity.observe(time, at, seen);
        }
        self.uniqueness.observe(time, at, seen);
        self.overall.observe(time, at, seen);
        self.per_term.observe(time, at, seen);
        self.fresh.observe(time, at, seen);
        self.steady.observe(time, at, seen);
    }

    /// The run has ended, `calm` if there had been time to agree.
    pub fn end(&mut self, time: u64, calm: bool) {
        self.agreement.end(time, calm);
        if let Some(validity) = &mut self.validity {
            validity.end(time, calm);
        }
        self.uniqueness.end(time, calm);
    }

    /// What was found so far.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::from([self.agreement.finding()]);
        findings.extend(self.validity.as_ref().map(Juror::finding));
        findings.extend([
            self.uniqueness.finding(),
            self.irrevocability.finding(),
            self.overall.finding(),
            self.per_term.finding(),
            self.fresh.finding(),
            self.steady.finding(),
        ]);
        findings
    }
}

/// Judges any service of agreement by what users ask and are told.
#[derive(Clone, Debug)]
pub struct AgreementJury(Vec<Juror<AnyAgreement>>);

impl AgreementJury {
    /// Before anything happened; nobody judges where it is no service of agreement.
    pub fn new(service: Service, charge: &Charge) -> Self {
        let monitors = AnyAgreement::all(service, charge.size, &charge.down);
        AgreementJury(monitors.into_iter().map(Juror::new).collect())
    }

    /// Something was asked or told, or a process crashed or came back.
    pub fn observe(
        &mut self,
        time: u64,
        at: ProcessId,
        seen: Observed<'_, agreement::Command, agreement::Event>,
    ) {
        self.0.iter_mut().for_each(|juror| juror.observe(time, at, seen));
    }

    /// The run has ended, `calm` if there had been time to agree.
    pub fn end(&mut self, time: u64, calm: bool) {
        self.0.iter_mut().for_each(|juror| juror.end(time, calm));
    }

    /// What was found so far.
    pub fn findings(&self) -> Vec<Finding> {
        self.0.iter().map(Juror::finding).collect()
    }
}
