use tenure_core::monitors::{Fencing, MutualExclusion, Order};
use tenure_core::service::mutex;
use tenure_core::{Monitor, Observed, ProcessId, Property, VectorClock, Violation};

use crate::bypass::BypassMeter;
use crate::verdict::{Finding, Verdict};
use crate::{Ask, Heard, Settings};

/// A monitor and the first thing it objected to.
#[derive(Debug)]
pub(crate) struct Kept<M> {
    monitor: M,
    violation: Option<(u64, Violation)>,
}

impl<M> Kept<M> {
    pub(crate) const fn new(monitor: M) -> Self {
        Kept { monitor, violation: None }
    }

    pub(crate) fn observe<C, E>(&mut self, time: u64, at: ProcessId, seen: Observed<'_, C, E>)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_none()
            && let Err(violation) = self.monitor.observe(at, seen)
        {
            self.violation = Some((time, violation));
        }
    }

    /// Judges the end as well, where the run came to one.
    pub(crate) fn end<C, E>(&mut self, time: u64)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_none()
            && let Err(violation) = self.monitor.at_end()
        {
            self.violation = Some((time, violation));
        }
    }

    /// What is known: a violation counts whenever it came.
    pub(crate) fn finding<C, E>(&self, otherwise: Verdict) -> Finding
    where
        M: Monitor<C, E>,
    {
        let property = self.monitor.property();
        match &self.violation {
            Some((time, violation)) => {
                Finding::violated(property, *time, violation.at, violation.says.clone())
            }
            None => Finding::undisputed(property, otherwise),
        }
    }
}

/// Judges mutual exclusion: by the monitors of the core, from what users ask and are told.
#[derive(Debug)]
pub(crate) struct MutexJudge {
    exclusion: Kept<MutualExclusion>,
    /// Of a lock that lets in several at once.
    at_most: Option<Kept<MutualExclusion>>,
    strict: Option<Kept<MutualExclusion>>,
    fencing: Option<Kept<Fencing>>,
    order: Option<[Kept<Order>; 2]>,
    bypass: BypassMeter,
    starved: Option<Finding>,
}

type Seen<'a> = Observed<'a, mutex::Command, mutex::Event>;

impl MutexJudge {
    pub(crate) fn new(settings: &Settings, order: bool) -> Self {
        let most = settings.watch.most_inside;
        let strict = most == 1 && !settings.faults.is_empty();
        MutexJudge {
            exclusion: Kept::new(MutualExclusion::new()),
            at_most: (most > 1).then(|| Kept::new(MutualExclusion::at_most(most))),
            strict: strict.then(|| Kept::new(MutualExclusion::strict())),
            fencing: settings.watch.fenced.then(|| Kept::new(Fencing::new())),
            order: order.then(|| [Order::new(), Order::with_messages()].map(Kept::new)),
            bypass: BypassMeter::new(settings.size),
            starved: None,
        }
    }

    /// The user at `at` asks; `clocks` by the protocol's messages and by all, where kept.
    pub(crate) fn asked(
        &mut self,
        time: u64,
        at: ProcessId,
        ask: Ask,
        clocks: Option<[&VectorClock; 2]>,
    ) {
        if ask != Ask::Enter {
            return;
        }
        self.bypass.requested(at);
        if let (Some(orders), Some(clocks)) = (&mut self.order, clocks) {
            let command = &mutex::Command::Enter;
            for (order, clock) in orders.iter_mut().zip(clocks) {
                order.observe(time, at, Observed::Command { command, clock: Some(clock) });
            }
        }
        // The others judge by what users are told, not by what they ask.
    }

    pub(crate) fn told(&mut self, time: u64, at: ProcessId, heard: Heard) {
        let event = match heard {
            Heard::Entered { fence } => {
                self.bypassed(time, at);
                mutex::Event::Entered { fence }
            }
            Heard::Exited => mutex::Event::Exited,
            _ => return,
        };
        self.each(time, at, Observed::Event(&event));
    }

    pub(crate) fn crashed(&mut self, time: u64, at: ProcessId) {
        self.bypass.ended(at);
        self.each(time, at, Observed::Crashed);
    }

    pub(crate) fn recovered(&mut self, time: u64, at: ProcessId) {
        self.each(time, at, Observed::Recovered);
    }

    /// The most entries of one process during one wait of another.
    pub(crate) const fn bypass(&self) -> &BypassMeter {
        &self.bypass
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![self.exclusion.finding(Verdict::Holds)];
        if let Some(at_most) = &self.at_most {
            findings.push(at_most.finding(Verdict::Holds));
        }
        if let Some(strict) = &self.strict {
            findings.push(strict.finding(Verdict::Holds));
        }
        if let Some([protocol, all]) = &self.order {
            findings.push(protocol.finding(Verdict::Holds));
            findings.push(all.finding(Verdict::Holds));
        }
        let starved = self.starved.clone();
        let holds = || Finding::undisputed(Property::NoStarvation, Verdict::Holds);
        findings.push(starved.unwrap_or_else(holds));
        if let Some(fencing) = &self.fencing {
            findings.push(fencing.finding(Verdict::Holds));
        }
        findings
    }

    fn bypassed(&mut self, time: u64, at: ProcessId) {
        let Some((waiter, times)) = self.bypass.entered(at) else { return };
        if times > 1 && self.starved.is_none() {
            let says = format!("{at} entered {times} times while {waiter} waited");
            self.starved = Some(Finding::violated(Property::NoStarvation, time, at, says));
        }
    }

    /// The monitors that need no clocks.
    fn all(&mut self, time: u64, at: ProcessId, seen: Seen<'_>) {
        self.exclusion.observe(time, at, seen);
        if let Some(at_most) = &mut self.at_most {
            at_most.observe(time, at, seen);
        }
        if let Some(strict) = &mut self.strict {
            strict.observe(time, at, seen);
        }
        if let Some(fencing) = &mut self.fencing {
            fencing.observe(time, at, seen);
        }
    }

    fn each(&mut self, time: u64, at: ProcessId, seen: Seen<'_>) {
        for order in self.order.iter_mut().flatten() {
            order.observe(time, at, seen);
        }
        self.all(time, at, seen);
    }
}
