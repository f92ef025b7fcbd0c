//! Result of a verification: verdicts and figures.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use tenure_core::{Finding, FirstViolation, Judgement, Property, Service};

use super::{MeasuredElection, MessageCounts, ResourceAccessCounts, ResourceCounterResult};
use crate::escaping::escape_invisible;
use crate::format::ClockUnit;

/// Result of the verification of a trace: a verdict per property, and figures.
///
/// Times are in milliseconds of real time, or in units of virtual time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Service of the algorithm.
    pub service: Service,
    /// Number of processes in the group.
    pub n: u32,
    /// Unit of the times in the trace.
    pub clock: ClockUnit,
    /// Overall verdict on the properties of the resource and on the properties that the algorithm
    /// promises. If the header lists no promises, the verdict considers all properties. It is
    /// *violated* if one of these properties is violated. Otherwise it is *incomplete* if the
    /// verdict on one of them is incomplete. Otherwise it is *holds*.
    pub verdict: Judgement,
    /// Verdict on each property that was checked.
    pub properties: BTreeMap<Property, Judgement>,
    /// First violation of each violated property.
    pub violations: Vec<TraceViolation>,
    /// Number of records in the trace.
    pub records: u64,
    /// Time from the first record to the last, in milliseconds (or virtual units).
    pub duration: f64,
    /// Number of critical-section entries.
    pub entries: u64,
    /// Mean and quantiles of the times from request to entry, in milliseconds (or virtual units).
    pub latency: Quantiles,
    /// Numbers of the processes that wait for entry at the end of the run: their users have
    /// requested it, and the processes have neither entered nor crashed since then.
    pub waiting: Vec<u32>,
    /// Numbers of the processes that are inside the critical section at the end of the run.
    #[serde(skip)]
    pub inside: Vec<u32>,
    /// Elections in the order in which they ended. The list contains at most the first 10,000.
    pub elections: Vec<MeasuredElection>,
    /// Numbers of messages sent, received, lost and duplicated.
    pub messages: MessageCounts,
    /// Numbers of accesses to the resource.
    pub accesses: ResourceAccessCounts,
    /// Final state of the counter in the resource. `None` if the trace contains no access.
    pub counter: Option<ResourceCounterResult>,
    /// Number of pairs of entries that overlapped while more processes were inside the critical
    /// section than permitted.
    pub overlaps: u64,
    /// Number of entries with a fence that is lower than the fence of an earlier entry.
    pub late: u64,
    /// Maximum number of entries by one process while another process waited for one entry.
    pub bypass_max: u32,
    /// Number of crashes of processes.
    pub crashes: u64,
    /// Files with an incomplete last line.
    pub torn: Vec<PathBuf>,
    /// Files without records, because the header is missing or incomplete.
    pub empty: Vec<PathBuf>,
    /// Number of received messages whose sending is not recorded, as in
    /// [`MergedTrace::unmatched`](crate::MergedTrace::unmatched).
    pub unmatched: u64,
    /// Number of causal contradictions between traces, as in
    /// [`MergedTrace::contradictions`](crate::MergedTrace::contradictions).
    pub contradictions: u64,
}

/// First violation of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceViolation {
    /// Violated property.
    pub property: Property,
    /// Time of the violation in milliseconds (or virtual units) since the first record.
    pub at: f64,
    /// Description of the violation.
    pub description: String,
    /// True if the violation makes the overall verdict *violated*. False if the algorithm does not
    /// promise the property, and the violation is only reported.
    #[serde(rename = "counts")]
    pub is_failure: bool,
}

/// Mean and quantiles of a set of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Arithmetic mean of the durations.
    pub mean: f64,
    /// Median: half of the durations are at most this long.
    pub p50: f64,
    /// 99th percentile: at most 1% of the durations are longer. If there are more than 65,536
    /// distinct durations, the percentile is rounded, with an error below 0.05%.
    pub p99: f64,
    /// Longest duration.
    pub max: f64,
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verification { algorithm, n, records, duration, .. } = self;
        let (algorithm, unit) = (escape_invisible(algorithm), self.clock.display_unit_name());
        writeln!(f, "{algorithm}, {n} processes, {records} records in {duration:.1} {unit}")?;
        for (property, judgement) in &self.properties {
            let mended = *property == Property::MutualExclusion
                && *judgement == Judgement::Holds
                && self.overlaps > 0;
            let description = if mended { "holds at the resource" } else { judgement.name() };
            row(f, property.name(), description)?;
        }
        for TraceViolation { property, at, description, is_failure } in &self.violations {
            let promised = if *is_failure { "" } else { " (not promised)" };
            let time = format_args!("{at:.3} {unit}");
            row(f, "violation", format_args!("{property} at {time}: {description}{promised}"))?;
        }
        self.figures(f)?;
        row(f, "verdict", self.verdict.name())
    }
}

impl Verification {
    /// Adds a finding. It replaces the judgement on its property, if there is one. A violation is a
    /// failure. `start` is the time of the first record, in ticks or nanoseconds. The reported time
    /// of a violation counts from `start`.
    pub fn add_finding(&mut self, finding: Finding, start: u64) {
        let Finding { property, judgement, violation } = finding;
        self.properties.insert(property, judgement);
        if let Some(FirstViolation { time, message, .. }) = violation {
            let at = time.saturating_sub(start) as f64 / 1e6;
            self.violations.push(TraceViolation {
                property,
                at,
                description: message,
                is_failure: true,
            });
        }
        self.verdict = match (self.verdict, judgement) {
            (Judgement::Violated, _) | (_, Judgement::Violated) => Judgement::Violated,
            (Judgement::Incomplete, _) | (_, Judgement::Incomplete) => Judgement::Incomplete,
            _ => Judgement::Holds,
        };
    }

    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.clock.display_unit_name();
        if self.entries > 0 {
            let Quantiles { p50, p99, max, .. } = self.latency;
            let entries = self.entries;
            let latency =
                format_args!("(p50 {p50:.3} {unit}, p99 {p99:.3} {unit}, max {max:.3} {unit})");
            row(f, "entries", format_args!("{entries} {latency}"))?;
            let nodes = if self.overlaps > 0 { " as reported by the nodes" } else { "" };
            row(f, "overlaps", format_args!("{} ({} late){nodes}", self.overlaps, self.late))?;
            row(f, "bypass", self.bypass_max)?;
        }
        for MeasuredElection { at, ms, leader, term, cause } in &self.elections {
            let cause = match cause {
                super::ElectionCause::Start => "the start",
                super::ElectionCause::Crash => "a crash",
                super::ElectionCause::Stop => "a stop",
                super::ElectionCause::Partition => "a partition",
                super::ElectionCause::Takeover => "a takeover",
            };
            let description =
                format!("P{leader} (term {term}) {ms:.1} {unit} after {cause} at {at:.1} {unit}");
            row(f, "election", description)?;
        }
        for (layer, kinds) in &self.messages.sent {
            let kinds: Vec<_> = kinds.iter().map(|(kind, sent)| format!("{kind} {sent}")).collect();
            row(f, "messages", format_args!("{layer:?}: {}", kinds.join(", ")))?;
        }
        let MessageCounts { dropped, duplicated, .. } = self.messages;
        if dropped + duplicated > 0 {
            row(f, "faults", format_args!("{dropped} lost, {duplicated} duplicated"))?;
        }
        if let Some(ResourceCounterResult { expected, found, lost }) = self.counter {
            let ResourceAccessCounts { accepted, refused } = self.accesses;
            row(f, "accesses", format_args!("{accepted} accepted, {refused} refused"))?;
            row(f, "counter", format_args!("expected {expected}, found {found}, lost {lost}"))?;
        }
        self.remarks(f)
    }

    fn remarks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.waiting.is_empty() {
            let waiting: Vec<_> = self.waiting.iter().map(|number| format!("P{number}")).collect();
            row(f, "waiting", waiting.join(", "))?;
        }
        for path in &self.torn {
            row(f, "torn", format_args!("the last line of {}", path.display()))?;
        }
        for path in &self.empty {
            row(f, "empty", path.display())?;
        }
        if self.unmatched > 0 {
            let unmatched = self.unmatched;
            row(f, "unmatched", format_args!("{unmatched} receipts of messages never written"))?;
        }
        if self.contradictions > 0 {
            row(f, "contradictions", self.contradictions)?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, description: impl fmt::Display) -> fmt::Result {
    // The name of a user-written property is an expression, which may be long.
    let gap = if name.len() < 22 { "" } else { " " };
    writeln!(f, "  {name:<22}{gap}{}", escape_invisible(&description.to_string()))
}
