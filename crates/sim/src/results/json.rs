//! The report of a run as JSON.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use tenure_core::{ProcessId, ReportLevel};

use crate::results::accumulators::DurationStats;
use crate::results::load::RunLoad;
use crate::results::metrics::RunMetrics;
use crate::results::network_load::NetworkFigures;
use crate::results::report::RunReport;
use crate::results::report::ticks_to_units;
use tenure_core::Judgement;

/// The report as `tenure simulate --format json` prints it.
///
/// Keys such as `election`, `load`, `faults` and `warnings` appear only if the run has the data.
/// The key `verdicts` contains some properties only if they are violated, promised or requested
/// ([`ReportLevel`]).
impl Serialize for RunReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut run = to.serialize_struct("Report", 14)?;
        run.serialize_field("algorithm", &self.algorithm)?;
        run.serialize_field("n", &self.size)?;
        let ids = (0..self.size).map(|process| self.rank(ProcessId(process)).id);
        run.serialize_field("ids", &ids.collect::<Vec<u32>>())?;
        run.serialize_field("seed", &self.seed)?;
        run.serialize_field("messages", &Messages(&self.metrics))?;
        if self.covers_elections {
            run.serialize_field("election", &Election::of(&self.metrics))?;
        }
        run.serialize_field("elected", &Elected(self))?;
        let leaders: Vec<u32> = self.leaders.iter().map(|leader| self.rank(*leader).id).collect();
        run.serialize_field("leaders", &leaders)?;
        run.serialize_field("entries", &Entries::of(&self.metrics))?;
        run.serialize_field("delays", &Delays::of(&self.metrics, |_| true))?;
        run.serialize_field("bypass_max", &self.bypass_max)?;
        run.serialize_field("finished_at", &self.finished_at_units())?;
        run.serialize_field("blocked", &numbers(&self.blocked))?;
        run.serialize_field("verdicts", &Verdicts(self))?;
        if let Some(time) = agreement_time(self) {
            run.serialize_field("agreement_time", &time)?;
        }
        if let Some(load) = &self.metrics.load {
            run.serialize_field("load", &LoadFields::of(self, load))?;
        }
        if let Some(network) = &self.metrics.network {
            run.serialize_field("network", network)?;
        }
        if !self.agreement_events.is_empty() {
            run.serialize_field("agreement_events", &EventsByProcess(&self.agreement_events))?;
        }
        if self.faults.iter().any(|count| count.requested || count.injected > 0) {
            run.serialize_field("faults", &Faults(self))?;
        }
        if !self.warnings.is_empty() {
            run.serialize_field("warnings", &self.warnings)?;
        }
        run.end()
    }
}

/// Returns the numbers of these processes. The number of the first process of the group is 1.
fn numbers(processes: &[ProcessId]) -> Vec<u32> {
    processes.iter().map(|process| process.display_number()).collect()
}

struct Messages<'a>(&'a RunMetrics);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut by_kind: BTreeMap<&str, u64> = BTreeMap::new();
        for kind in &self.0.kinds {
            *by_kind.entry(kind.label.kind).or_default() += kind.sent;
        }
        let mut messages = to.serialize_struct("Messages", 5)?;
        messages.serialize_field("total", &self.0.sent)?;
        messages.serialize_field("received", &self.0.received)?;
        messages.serialize_field("by_kind", &by_kind)?;
        messages.serialize_field("dropped", &self.0.dropped)?;
        messages.serialize_field("duplicated", &self.0.duplicated)?;
        messages.end()
    }
}

/// Elections of a run in JSON: the number of requests, the number of participants, and the
/// messages.
#[derive(Serialize)]
struct Election {
    /// Number of requests for an election that users issued.
    started: u64,
    /// Number of processes that sent a message of an election.
    took_part: usize,
    /// Number of messages of each election, in the order of the elections.
    messages: Vec<u64>,
}

impl Election {
    fn of(metrics: &RunMetrics) -> Self {
        Election {
            started: metrics.election_request_count,
            took_part: metrics.election_participant_count(),
            messages: metrics.elections.iter().map(|election| election.messages).collect(),
        }
    }
}

/// Leaders in JSON: for each process number, the identifier of the leader that the process believes
/// in, or null. Empty if the report does not cover elections.
struct Elected<'a>(&'a RunReport);

impl Serialize for Elected<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let report = self.0;
        let beliefs = if report.covers_elections { report.beliefs.as_slice() } else { &[] };
        to.collect_map(beliefs.iter().enumerate().map(|(place, belief)| {
            let rank = belief.map(|leader| report.rank(leader).id);
            (ProcessId::from_index(place).display_number(), rank)
        }))
    }
}

/// Descriptions of the events of an agreement service in JSON. Each process number has a list of
/// the events that the user of the process received, in order of time.
struct EventsByProcess<'a>(&'a [Vec<String>]);

impl Serialize for EventsByProcess<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let by_process = self.0.iter().enumerate();
        to.collect_map(
            by_process
                .map(|(place, events)| (ProcessId::from_index(place).display_number(), events)),
        )
    }
}

/// Entries to the critical section in JSON: their number, and the processes that entered, in order
/// of time.
#[derive(Serialize)]
struct Entries {
    total: u64,
    order: Vec<u32>,
}

impl Entries {
    fn of(metrics: &RunMetrics) -> Self {
        Entries { total: metrics.entry_count, order: numbers(&metrics.entering_processes) }
    }
}

/// Delays of a run in JSON, in units. A report contains 0 for a delay that was not measured. The
/// statistics of many runs omit this delay.
#[derive(Serialize)]
struct Delays {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<MeanAndMax<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<MeanAndMax<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    synchronisation: Option<MeanAndMax<f64>>,
}

impl Delays {
    fn of(metrics: &RunMetrics, is_shown: fn(&DurationStats) -> bool) -> Self {
        let delay = |stats: &DurationStats| {
            let (mean, max) = (ticks_to_units(stats.mean()), ticks_to_units(stats.longest as f64));
            is_shown(stats).then_some(MeanAndMax { mean, max })
        };
        Delays {
            entry: delay(&metrics.entry_delay),
            exit: delay(&metrics.exit_delay),
            synchronisation: delay(&metrics.synchronisation_delay),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct MeanAndMax<M> {
    pub(crate) mean: f64,
    pub(crate) max: M,
}

struct Verdicts<'a>(&'a RunReport);

impl Serialize for Verdicts<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let listed = self.0.findings.iter().filter(|finding| {
            finding.judgement == Judgement::Violated
                || finding.property.report_level() > ReportLevel::OnViolation
                || self.0.is_failure_property(finding.property)
        });
        to.collect_map(listed.map(|finding| (finding.property, finding.judgement.name())))
    }
}

struct Faults<'a>(&'a RunReport);

impl Serialize for Faults<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let counts = self.0.faults.iter().filter(|count| count.requested || count.injected > 0);
        to.collect_map(counts.map(|count| {
            let seen = [("injected", count.injected), ("observed", count.observed)];
            (count.fault, BTreeMap::from(seen))
        }))
    }
}

/// Returns the numbers of a report that can be averaged over many runs. If the JSON form of the
/// report contains a number too, its path is the same in both.
pub(crate) fn report_figures(report: &RunReport) -> impl Serialize + '_ {
    let election_time = &report.metrics.election_time;
    Figures {
        messages: Messages(&report.metrics),
        election: report.covers_elections.then(|| Election::of(&report.metrics)),
        entries: Total { total: report.metrics.entry_count },
        delays: Delays::of(&report.metrics, is_measured),
        bypass_max: report.bypass_max,
        finished_at: report.finished_at_units(),
        election_time: is_measured(election_time).then(|| ticks_to_units(election_time.mean())),
        agreement_time: agreement_time(report),
        waiting: MeanAndMax {
            mean: report.metrics.waiting.mean(),
            max: report.metrics.waiting.highest,
        },
        throughput: report.throughput(),
        load: report.metrics.load.as_deref().map(LoadFigures::of),
        network: report.metrics.network.as_deref().map(NetworkFigures::from_load),
        bytes: report.metrics.bytes,
    }
}

/// Returns the time from the first command to the last event of an agreement service, in units.
/// Returns `None` if no user has requested an agreement.
fn agreement_time(report: &RunReport) -> Option<f64> {
    let has_agreements = report.metrics.requested_agreement_count > 0;
    has_agreements.then(|| ticks_to_units(report.metrics.agreement_time as f64))
}

#[derive(Serialize)]
struct Figures<'a> {
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    election: Option<Election>,
    entries: Total,
    delays: Delays,
    bypass_max: u32,
    finished_at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    election_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_time: Option<f64>,
    waiting: MeanAndMax<u64>,
    throughput: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<LoadFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkFigures>,
    bytes: u64,
}

/// Numbers about the [`RunLoad`] of a run that can be averaged over runs.
#[derive(Serialize)]
struct LoadFigures {
    /// Number of messages that a process sent or received: the mean and the maximum over all
    /// processes.
    process: MeanAndMax<u64>,
    /// Number of messages on a link: the mean and the maximum over all links that were used.
    link: MeanAndMax<u64>,
    utilisation: f64,
}

impl LoadFigures {
    fn of(load: &RunLoad) -> Self {
        let busiest = load.busiest_process().map_or(0, |(_, load)| load.messages());
        let link = load.busiest_link().map_or(0, |(_, sent)| sent);
        LoadFigures {
            process: MeanAndMax { mean: load.mean_messages_per_process(), max: busiest },
            link: MeanAndMax { mean: load.mean_messages_per_link(), max: link },
            utilisation: load.critical_section_utilisation(),
        }
    }
}

/// JSON form of the [`RunLoad`] of a run.
#[derive(Serialize)]
struct LoadFields {
    processes: Vec<ProcessFields>,
    links: Vec<LinkFields>,
    #[serde(flatten)]
    figures: LoadFigures,
    throughput: f64,
}

#[derive(Serialize)]
struct ProcessFields {
    process: u32,
    sent: u64,
    received: u64,
    handled: u64,
}

#[derive(Serialize)]
struct LinkFields {
    from: u32,
    to: u32,
    sent: u64,
}

impl LoadFields {
    fn of(report: &RunReport, load: &RunLoad) -> Self {
        let processes = load.processes.iter().enumerate().map(|(place, load)| ProcessFields {
            process: ProcessId::from_index(place).display_number(),
            sent: load.sent,
            received: load.received,
            handled: load.handled,
        });
        let link = |((from, to), sent): (&(ProcessId, ProcessId), &u64)| LinkFields {
            from: from.display_number(),
            to: to.display_number(),
            sent: *sent,
        };
        LoadFields {
            processes: processes.collect(),
            links: load.links.iter().map(link).collect(),
            figures: LoadFigures::of(load),
            throughput: report.throughput(),
        }
    }
}

fn is_measured(stats: &DurationStats) -> bool {
    stats.count > 0
}

#[derive(Serialize)]
struct Total {
    total: u64,
}
