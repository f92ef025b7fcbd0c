use std::collections::BTreeMap;

use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use tenure_core::{ProcessId, ReportCondition};

use crate::results::load::Load;
use crate::results::metrics::Metrics;
use crate::results::network_load::NetworkFigures;
use crate::results::report::Report;
use crate::results::report::in_units;
use crate::results::tally::Tally;
use tenure_core::Judgement;

/// The report as `tenure simulate --format json` prints it.
///
/// The keys `faults` and `warnings` appear if they are not empty. Verdicts beyond the service's
/// usual list appear if they do not hold.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut run = to.serialize_struct("Report", 14)?;
        run.serialize_field("algorithm", &self.algorithm)?;
        run.serialize_field("n", &self.size)?;
        run.serialize_field("ids", &Ids(self))?;
        run.serialize_field("seed", &self.seed)?;
        run.serialize_field("messages", &Messages(&self.metrics))?;
        if self.elects {
            run.serialize_field("election", &Election::of(&self.metrics))?;
        }
        run.serialize_field("elected", &Elected(self))?;
        let leaders: Vec<u32> = self.leaders.iter().map(|leader| self.rank(*leader).id).collect();
        run.serialize_field("leaders", &leaders)?;
        run.serialize_field("entries", &Entries(&self.metrics))?;
        run.serialize_field("delays", &Delays(&self.metrics))?;
        run.serialize_field("bypass_max", &self.bypass_max)?;
        run.serialize_field("finished_at", &self.finished_at_units())?;
        run.serialize_field("blocked", &Numbers(&self.blocked))?;
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

struct Ids<'a>(&'a Report);

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let processes = (0..self.0.size).map(ProcessId);
        to.collect_seq(processes.map(|process| self.0.rank(process).id))
    }
}

struct Numbers<'a>(&'a [ProcessId]);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut numbers = to.serialize_seq(Some(self.0.len()))?;
        for process in self.0 {
            numbers.serialize_element(&process.number())?;
        }
        numbers.end()
    }
}

struct Messages<'a>(&'a Metrics);

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

/// Participation in elections.
#[derive(Serialize)]
struct Election {
    /// Number of elections that users started.
    started: u64,
    /// Number of processes that sent a message of an election.
    took_part: usize,
    /// Messages of each election, in order.
    messages: Vec<u64>,
}

impl Election {
    fn of(metrics: &Metrics) -> Self {
        Election {
            started: metrics.started,
            took_part: metrics.took_part(),
            messages: metrics.elections.iter().map(|election| election.messages).collect(),
        }
    }
}

struct Elected<'a>(&'a Report);

impl Serialize for Elected<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let report = self.0;
        let beliefs = if report.elects { report.beliefs.as_slice() } else { &[] };
        let mut elected = to.serialize_map(Some(beliefs.len()))?;
        for (place, belief) in beliefs.iter().enumerate() {
            let rank = belief.map(|leader| report.rank(leader).id);
            elected.serialize_entry(&ProcessId::at(place).number(), &rank)?;
        }
        elected.end()
    }
}

/// Events by process, in order.
struct EventsByProcess<'a>(&'a [Vec<String>]);

impl Serialize for EventsByProcess<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let by_process = self.0.iter().enumerate();
        to.collect_map(by_process.map(|(place, events)| (ProcessId::at(place).number(), events)))
    }
}

struct Entries<'a>(&'a Metrics);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut entries = to.serialize_struct("Entries", 2)?;
        entries.serialize_field("total", &self.0.entered)?;
        entries.serialize_field("order", &Numbers(&self.0.entries))?;
        entries.end()
    }
}

struct Delays<'a>(&'a Metrics);

impl Serialize for Delays<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut delays = to.serialize_struct("Delays", 3)?;
        delays.serialize_field("entry", &Delay(&self.0.entry_delay))?;
        delays.serialize_field("exit", &Delay(&self.0.exit_delay))?;
        delays.serialize_field("synchronisation", &Delay(&self.0.synchronisation_delay))?;
        delays.end()
    }
}

struct Delay<'a>(&'a Tally);

impl Serialize for Delay<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut delay = to.serialize_struct("Delay", 2)?;
        delay.serialize_field("mean", &in_units(self.0.mean()))?;
        delay.serialize_field("max", &in_units(self.0.longest as f64))?;
        delay.end()
    }
}

struct Verdicts<'a>(&'a Report);

impl Serialize for Verdicts<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let listed = self.0.findings.iter().filter(|finding| {
            finding.judgement == Judgement::Violated
                || finding.property.report_condition() > ReportCondition::OnViolation
        });
        to.collect_map(listed.map(|finding| (finding.property, finding.judgement.name())))
    }
}

struct Faults<'a>(&'a Report);

impl Serialize for Faults<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let counts = self.0.faults.iter().filter(|count| count.requested || count.injected > 0);
        to.collect_map(counts.map(|count| {
            let seen = [("injected", count.injected), ("observed", count.observed)];
            (count.fault, BTreeMap::from(seen))
        }))
    }
}

/// Returns the numbers of a report that can be averaged over many runs, nested like the report.
pub(crate) fn figures(report: &Report) -> impl Serialize + '_ {
    Figures {
        messages: Messages(&report.metrics),
        election: report.elects.then(|| Election::of(&report.metrics)),
        entries: Total { total: report.metrics.entered },
        delays: Measured::of(&report.metrics),
        bypass_max: report.bypass_max,
        finished_at: report.finished_at_units(),
        election_time: measured(&report.metrics.election_time).map(|time| in_units(time.mean())),
        agreement_time: agreement_time(report),
        waiting: Waiting {
            mean: report.metrics.waiting.mean(),
            max: report.metrics.waiting.highest,
        },
        throughput: report.throughput(),
        load: report.metrics.load.as_deref().map(LoadFigures::of),
        network: report.metrics.network.as_deref().map(NetworkFigures::of),
        bytes: report.metrics.bytes,
    }
}

/// Returns the time from the first request to the last result, if any agreement was requested.
fn agreement_time(report: &Report) -> Option<f64> {
    let has_agreements = report.metrics.agreements > 0;
    has_agreements.then(|| in_units(report.metrics.agreement_time as f64))
}

#[derive(Serialize)]
struct Figures<'a> {
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    election: Option<Election>,
    entries: Total,
    delays: Measured<'a>,
    bypass_max: u32,
    finished_at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    election_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_time: Option<f64>,
    waiting: Waiting,
    throughput: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<LoadFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkFigures>,
    bytes: u64,
}

/// Figures of the load that can be averaged.
#[derive(Serialize)]
struct LoadFigures {
    /// Messages sent or received by a process.
    process: MeanAndMax,
    /// Messages on a link that was used.
    link: MeanAndMax,
    utilisation: f64,
}

#[derive(Serialize)]
struct MeanAndMax {
    mean: f64,
    max: u64,
}

impl LoadFigures {
    fn of(load: &Load) -> Self {
        let busiest = load.busiest_process().map_or(0, |(_, load)| load.messages());
        let link = load.busiest_link().map_or(0, |(_, sent)| sent);
        LoadFigures {
            process: MeanAndMax { mean: load.mean_messages(), max: busiest },
            link: MeanAndMax { mean: load.mean_of_links(), max: link },
            utilisation: load.utilisation(),
        }
    }
}

/// The load of a run, by process and link.
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
    fn of(report: &Report, load: &Load) -> Self {
        let processes = load.processes.iter().enumerate().map(|(place, load)| ProcessFields {
            process: ProcessId::at(place).number(),
            sent: load.sent,
            received: load.received,
            handled: load.handled,
        });
        let link = |((from, to), sent): (&(ProcessId, ProcessId), &u64)| LinkFields {
            from: from.number(),
            to: to.number(),
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

/// Delays that were measured.
#[derive(Serialize)]
struct Measured<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Delay<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<Delay<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    synchronisation: Option<Delay<'a>>,
}

impl<'a> Measured<'a> {
    fn of(metrics: &'a Metrics) -> Self {
        Measured {
            entry: measured(&metrics.entry_delay).map(Delay),
            exit: measured(&metrics.exit_delay).map(Delay),
            synchronisation: measured(&metrics.synchronisation_delay).map(Delay),
        }
    }
}

/// Returns the tally, or `None` if it is empty: a missing measurement must not be shown as 0.
fn measured(tally: &Tally) -> Option<&Tally> {
    (tally.count > 0).then_some(tally)
}

#[derive(Serialize)]
struct Total {
    total: u64,
}

#[derive(Serialize)]
struct Waiting {
    mean: f64,
    max: u64,
}
