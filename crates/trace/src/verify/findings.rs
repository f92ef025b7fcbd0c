use std::collections::BTreeMap;

use tenure_core::{Finding, Judgement, Notice, Property};

use super::elections::Held;
use super::verification::Violated;
use super::{Accesses, Election, Quantiles, Traffic, Verification};
use crate::format::Header;

/// When a violation was seen, and what happened.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) time: u64,
    pub(super) says: String,
}

/// What a judge puts down at the end, property by property.
pub(super) struct Findings {
    header: Header,
    start: u64,
    properties: BTreeMap<Property, Judgement>,
    violations: Vec<Violated>,
}

impl Findings {
    pub(super) fn new(header: &Header, start: u64) -> Self {
        Findings {
            header: header.clone(),
            start,
            properties: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    /// Puts down a property that is decided at any moment.
    pub(super) fn judge(&mut self, property: Property, found: Option<&Found>) {
        let judgement = if found.is_some() { Judgement::Violated } else { Judgement::Holds };
        self.properties.insert(property, judgement);
        if let Some(Found { time, says }) = found {
            let (at, counts) = (self.since_start(*time), self.counts(property));
            self.violations.push(Violated { property, at, says: says.clone(), counts });
        }
    }

    /// Puts down what a jury found.
    pub(super) fn put(&mut self, finding: Finding) {
        match finding.violation {
            Some(first) => {
                let found = Found { time: first.time, says: first.says };
                self.judge(finding.property, Some(&found));
            }
            None => drop(self.properties.insert(finding.property, finding.judgement)),
        }
    }

    /// Whether the header names a property: it was promised, or violated when this was kept.
    pub(super) fn is_named(&self, property: Property) -> bool {
        let Header { promises, violates, .. } = &self.header;
        promises.iter().chain(violates).any(|name| name == property.name())
    }

    /// Milliseconds of real time, or units of virtual time, from the start of the trace.
    pub(super) fn since_start(&self, time: u64) -> f64 {
        time.saturating_sub(self.start) as f64 / 1e6
    }

    pub(super) fn election(&self, held: &Held) -> Election {
        Election {
            at: self.since_start(held.since),
            ms: held.until.saturating_sub(held.since) as f64 / 1e6,
            leader: held.term.leader.number(),
            term: held.term.number,
            cause: held.cause,
        }
    }

    /// The verdicts, with no figures yet.
    pub(super) fn into_verification(self) -> Verification {
        let counting = |judgement| {
            let mut same = self.properties.iter().filter(move |(_, each)| **each == judgement);
            same.any(|(property, _)| self.counts(*property))
        };
        let verdict = if counting(Judgement::Violated) {
            Judgement::Violated
        } else if counting(Judgement::Incomplete) {
            Judgement::Incomplete
        } else {
            Judgement::Holds
        };
        let header = self.header;
        Verification {
            algorithm: header.algorithm,
            service: header.service,
            n: header.n,
            verdict,
            properties: self.properties,
            violations: self.violations,
            records: 0,
            duration: 0.0,
            entries: 0,
            latency: Quantiles::default(),
            waiting: Vec::new(),
            inside: Vec::new(),
            elections: Vec::new(),
            messages: Traffic::default(),
            accesses: Accesses::default(),
            counter: None,
            overlaps: 0,
            late: 0,
            bypass_max: 0,
            crashes: 0,
            torn: Vec::new(),
            empty: Vec::new(),
            unmatched: 0,
            contradictions: 0,
        }
    }

    fn counts(&self, property: Property) -> bool {
        self.header.promises.is_empty() && property.notice() > Notice::Broken
            || self.is_named(property)
            // What an algorithm need not promise: the resource does.
            || matches!(property, Property::Counter | Property::FencedAccess)
    }
}
