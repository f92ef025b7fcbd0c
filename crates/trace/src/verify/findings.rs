//! Verdicts of a verification: one verdict per property, and an overall verdict.

use std::collections::BTreeMap;

use tenure_core::{Finding, Judgement, Property, ReportLevel};

use super::MeasuredElection;
use super::elections::ElectionInterval;
use super::verification::TraceViolation;
use crate::format::Header;

/// A violation, with its time in ticks or nanoseconds and a description.
#[derive(Clone, Debug)]
pub(super) struct DetectedViolation {
    pub(super) time: u64,
    pub(super) description: String,
}

/// Findings of the verification, one for each property that was checked.
pub(super) struct Findings {
    header: Header,
    start: u64,
    pub(super) properties: BTreeMap<Property, Judgement>,
    pub(super) violations: Vec<TraceViolation>,
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

    /// Adds the finding for a property. The property is violated if `found` is a violation, and
    /// holds otherwise.
    pub(super) fn add_judgement(&mut self, property: Property, found: Option<&DetectedViolation>) {
        let judgement = if found.is_some() { Judgement::Violated } else { Judgement::Holds };
        self.properties.insert(property, judgement);
        if let Some(DetectedViolation { time, description }) = found {
            let (at, is_failure) = (self.units_since_start(*time), self.is_required(property));
            self.violations.push(TraceViolation {
                property,
                at,
                description: description.clone(),
                is_failure,
            });
        }
    }

    pub(super) fn add_finding(&mut self, finding: Finding) {
        match finding.violation {
            Some(first) => {
                let found = DetectedViolation { time: first.time, description: first.message };
                self.add_judgement(finding.property, Some(&found));
            }
            None => drop(self.properties.insert(finding.property, finding.judgement)),
        }
    }

    /// Returns true if the header of the trace lists the property. The header lists promised
    /// properties and violated properties.
    pub(super) fn is_in_header(&self, property: Property) -> bool {
        self.header.mentions_property(property)
    }

    /// Converts a time to milliseconds (or virtual units) since the first record.
    pub(super) fn units_since_start(&self, time: u64) -> f64 {
        time.saturating_sub(self.start) as f64 / 1e6
    }

    pub(super) fn measured_election(&self, measured: &ElectionInterval) -> MeasuredElection {
        MeasuredElection {
            at: self.units_since_start(measured.since),
            ms: measured.until.saturating_sub(measured.since) as f64 / 1e6,
            leader: measured.term.leader.display_number(),
            term: measured.term.number,
            cause: measured.cause,
        }
    }

    pub(super) fn verdict(&self) -> Judgement {
        let counting = |judgement| {
            let mut same = self.properties.iter().filter(move |(_, each)| **each == judgement);
            same.any(|(property, _)| self.is_required(*property))
        };
        if counting(Judgement::Violated) {
            Judgement::Violated
        } else if counting(Judgement::Incomplete) {
            Judgement::Incomplete
        } else {
            Judgement::Holds
        }
    }

    fn is_required(&self, property: Property) -> bool {
        let condition = property.report_level();
        self.header.promises.is_empty() && condition > ReportLevel::OnViolation
            || self.is_in_header(property)
            // The resource ensures these properties, so they are required whatever the algorithm
            // promises.
            || matches!(property, Property::NoLostUpdate | Property::FencedAccess)
    }
}
