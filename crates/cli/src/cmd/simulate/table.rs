//! The result of a simulation as a table, with measured and theoretical figures side by side.

use std::collections::BTreeMap;

use tenure_core::theory::PredictionKind;
use tenure_core::{ProcessId, Property, Service, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    DurationStats, EdgeLoad, EndReason, EndlessWaitKind, Moments, ProcessLoad, RunReport,
};

use super::experiment::{ReplayableViolation, SimulationOutcome};
use super::plan::SimulationPlan;
use super::theory::{self, CostDeviation};
use crate::cmd::output::line_width;
use crate::cmd::rows::{LabelledRows, format_figure, join_with_limit};

pub(super) fn table(plan: &SimulationPlan, outcome: &SimulationOutcome, runs: u64) -> String {
    let mut table =
        Table { rows: LabelledRows::new(&headline(plan, outcome, runs)), plan, outcome };
    if runs == 1 {
        table.one_run(&outcome.first);
    } else {
        table.many_runs();
    }
    table.theory();
    table.faults();
    table.verdicts();
    table.violations();
    table.rows.into_text()
}

fn headline(plan: &SimulationPlan, outcome: &SimulationOutcome, runs: u64) -> String {
    let (name, size, seed) = (&plan.card.name, plan.size(), plan.common_settings().seed);
    let made = outcome.summary.runs();
    let seeds = match (runs, made) {
        (1, _) => format!("seed {seed}"),
        (_, 1) => format!("1 run, seed {seed}"),
        _ => format!("{made} runs, seeds {seed} to {}", seed.wrapping_add(made - 1)),
    };
    let stopped = if outcome.interrupted { ", interrupted: partial figures" } else { "" };
    let many = if size == 1 { "process" } else { "processes" };
    format!("{name}: {size} {many}, {seeds}{stopped}")
}

struct Table<'a> {
    rows: LabelledRows,
    plan: &'a SimulationPlan,
    outcome: &'a SimulationOutcome,
}

impl Table<'_> {
    fn is_election(&self) -> bool {
        self.plan.card.service == Service::Election
    }

    fn is_agreement(&self) -> bool {
        self.plan.card.service.is_agreement()
    }

    /// Returns the unit to which numbers of messages refer, such as `per entry`.
    fn unit(&self) -> &'static str {
        match self.plan.card.service {
            Service::Election => "per election",
            service if service.is_agreement() => "per agreement",
            _ => "per entry",
        }
    }

    fn one_run(&mut self, report: &RunReport) {
        let metrics = &report.metrics;
        let kinds = metrics.kinds.iter().map(|kind| format!("{} {}", kind.label.kind, kind.sent));
        let kinds = join_with_limit(kinds, ", ");
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {kinds}") };
        self.rows.add_row("messages", &format!("{}{kinds}", metrics.sent));
        self.rows.add_row("received", &metrics.received.to_string());
        if self.is_election() {
            let (started, took_part) =
                (metrics.election_request_count, metrics.election_participant_count());
            let message = format!("{took_part} of {}; {started} started the election", report.size);
            self.rows.add_row("participants", &message);
            let ids = (0..report.size).map(|place| report.rank(ProcessId(place)).to_string());
            self.rows.add_row("ranks", &join_with_limit(ids.collect::<Vec<_>>().into_iter(), ", "));
            self.elected(report);
        } else if self.is_agreement() {
            self.outcomes(report);
        } else {
            let order =
                join_with_limit(metrics.entering_processes.iter().map(ToString::to_string), " ");
            let order = if order.is_empty() { String::new() } else { format!(": {order}") };
            self.rows.add_row("entries", &format!("{}{order}", metrics.entry_count));
            self.delays(report);
        }
        self.load(report);
        self.network(report);
        let ended = match report.ended {
            EndReason::Served => "all requests served",
            EndReason::Quiescent => "no event left",
            EndReason::Stalled => "events continued, but no request was served",
            EndReason::TimeLimit => "time limit",
            EndReason::TimeExhausted => "maximum time of a run",
            EndReason::Flooded => "messages multiply without bound",
            EndReason::EventLimit => "event limit",
            EndReason::Stopped => "interrupted",
        };
        let at = format_figure(report.finished_at_units());
        self.rows.add_row("ended at", &format!("{at}: {ended}, after {} events", metrics.events));
        if !report.blocked.is_empty() {
            let blocked = join_with_limit(report.blocked.iter().map(ToString::to_string), " ");
            let how = match report.endless_wait_kind {
                Some(EndlessWaitKind::Deadlock) => " (deadlock: no request is served any more)",
                Some(EndlessWaitKind::Starvation) => " (starvation: other processes are served)",
                None => "",
            };
            self.rows.add_row("blocked", &format!("{blocked}{how}"));
        }
    }

    fn load(&mut self, report: &RunReport) {
        let Some(load) = &report.metrics.load else { return };
        if let Some((at, busiest)) = load.busiest_process() {
            let ProcessLoad { sent, received, handled } = busiest;
            let mean = format_figure(load.mean_messages_per_process());
            let message = format!(
                "busiest {at}: {sent} sent, {received} received, {handled} steps; mean {mean} \
                 messages a process"
            );
            self.rows.add_row("load", &message);
        }
        if let Some(((from, to), sent)) = load.busiest_link() {
            let (mean, links) = (format_figure(load.mean_messages_per_link()), load.links.len());
            let message = format!("busiest {from}→{to}: {sent} messages; mean of {links}: {mean}");
            self.rows.add_row("links", &message);
        }
        if report.metrics.entry_count > 0 {
            let (entries, share) =
                (report.throughput(), 100.0 * load.critical_section_utilisation());
            let (entries, share) = (format_figure(entries), format_figure(share));
            let message = format!("{entries} entries per unit of time; utilisation {share} %");
            self.rows.add_row("throughput", &message);
        }
    }

    fn network(&mut self, report: &RunReport) {
        let Some(network) = &report.metrics.network else { return };
        if let Some(busiest) = network.busiest_edge() {
            let EdgeLoad { one, other, messages, .. } = busiest;
            let (edges, mean) =
                (network.edges.len(), format_figure(network.mean_messages_per_edge()));
            let message = format!(
                "{messages} messages over the busiest edge, {one}–{other}; mean of {edges} edges: \
                 {mean}"
            );
            self.rows.add_row("stress", &message);
        }
        if network.is_underlay && network.messages > 0 {
            let (mean, most) = (format_figure(network.mean_hops()), network.longest_path);
            let hops = network.hops;
            let message = format!("{mean} edges per message, at most {most}; {hops} in total");
            self.rows.add_row("stretch", &message);
        }
        let names = self.plan.vertex_names.iter().enumerate();
        let names = names.map(|(place, name)| format!("{} = {name}", ProcessId::from_index(place)));
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            self.rows.add_row("vertices", &join_with_limit(names.into_iter(), ", "));
        }
    }

    /// Adds rows with the events that the users of an agreement received. If several processes have
    /// the same events, they share one row. The rows are in the order of their first processes.
    fn outcomes(&mut self, report: &RunReport) {
        let mut outcomes: Vec<(String, Vec<String>)> = Vec::new();
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        for (place, events) in report.agreement_events.iter().enumerate() {
            let events = join_with_limit(events.iter().cloned(), ", ");
            let events = if events.is_empty() { "none".to_owned() } else { events };
            let row = *rows.entry(events.clone()).or_insert(outcomes.len());
            if row == outcomes.len() {
                outcomes.push((events, Vec::new()));
            }
            outcomes[row].1.push(ProcessId::from_index(place).to_string());
        }
        let mut name = "outcome";
        for (events, processes) in outcomes {
            let processes = join_with_limit(processes.into_iter(), " ");
            self.rows.add_row(name, &format!("{processes}: {events}"));
            name = "";
        }
    }

    fn elected(&mut self, report: &RunReport) {
        let mut beliefs: BTreeMap<Option<ProcessId>, u64> = BTreeMap::new();
        for belief in &report.beliefs {
            *beliefs.entry(*belief).or_default() += 1;
        }
        let has_crashed =
            report.faults.iter().any(|count| count.fault == "crash" && count.observed > 0)
                || !self.plan.common_settings().down.is_empty();
        let parts: Vec<String> = beliefs
            .into_iter()
            .rev()
            .map(|(leader, count)| match leader {
                Some(leader) => {
                    format!("{leader} (rank {}) by {count}", report.rank(leader))
                }
                None if has_crashed => format!("none by {count} (including crashed processes)"),
                None => format!("none by {count}"),
            })
            .collect();
        self.rows.add_row("elected", &join_with_limit(parts.into_iter(), ", "));
        let time = &report.metrics.election_time;
        if time.count > 0 {
            let longest = format_figure(units(time.longest as f64));
            self.rows
                .add_row("time to elect", &format!("{longest} from the last cause to agreement"));
        }
    }

    fn delays(&mut self, report: &RunReport) {
        let page = theory::lock_theory(&self.plan.card);
        let metrics = &report.metrics;
        let delay = |stats: &DurationStats| {
            if stats.count == 0 {
                return "not measured".to_owned();
            }
            let (mean, longest) = (units(stats.mean()), units(stats.longest as f64));
            format!("mean {}, at most {}", format_figure(mean), format_figure(longest))
        };
        let theory_of = |message: Option<&str>| {
            message.map_or(String::new(), |message| format!("; theory: {message}"))
        };
        let in_messages = |delay: Option<String>| {
            delay.map_or(String::new(), |delay| format!("; theory in message delays: {delay}"))
        };
        let uncontended = page.map(|page| format!("{} without contention", page.entry_delay));
        let uncontended = in_messages(uncontended);
        self.rows.add_row("delay at entry", &(delay(&metrics.entry_delay) + &uncontended));
        let exit = delay(&metrics.exit_delay) + &theory_of(page.map(|_| "0"));
        self.rows.add_row("delay at exit", &exit);
        let handing = &metrics.synchronisation_delay;
        let handing = match handing.count {
            0 => "no process waited at any exit".to_owned(),
            _ => delay(handing) + &in_messages(page.map(theory::synchronisation_delay)),
        };
        self.rows.add_row("synchronisation", &handing);
        let pair = report.bypass_pair.filter(|_| report.bypass_max > 0);
        let pair = pair.map_or(String::new(), |(process, waiting)| {
            format!(" (of {process}, while {waiting} waited)")
        });
        let bound = page.map_or(String::new(), |page| format!("; theory: {}", page.bypass));
        let message = format!("at most {}{pair}{bound}", report.bypass_max);
        self.rows.add_row("bypass", &message);
    }

    fn many_runs(&mut self) {
        self.rows.add_line(&of_runs(["", "mean", "95 % confidence", "deviation", "min", "max"]));
        let unit = self.unit();
        let messages = self.outcome.messages;
        self.moments(&format!("messages {unit}"), &messages);
        let summary = &self.outcome.summary;
        let (election, agrees) = (self.is_election(), self.is_agreement());
        let wanted = |path: &str| {
            let entering = path.starts_with("delays") || path.starts_with("bypass");
            let electing = path.starts_with("election");
            path.starts_with("messages")
                || path.starts_with("load")
                || path.starts_with("network")
                || path == "finished_at"
                || if election { electing } else { entering || path == "entries.total" } && !agrees
        };
        let mut figures: Vec<(&str, Moments)> = summary
            .measurements()
            .filter(|(path, _)| wanted(path))
            .map(|(path, it)| (path, *it))
            .collect();
        // The total of messages first, then messages by kind.
        figures.sort_by_key(|(path, _)| match *path {
            "messages.total" => (0, ""),
            path if path.starts_with(BY_KIND) => (1, path),
            path if path.starts_with("messages") => (2, path),
            path => (3, path),
        });
        let figures: Vec<(String, Moments)> =
            figures.iter().map(|(path, moments)| (label_of(path), *moments)).collect();
        for (name, moments) in &figures {
            self.moments(name, moments);
        }
        self.rows.add_line("");
        let first = format!("messages {unit}");
        let first = (first.as_str(), self.outcome.measured_runs);
        let others = figures.iter().map(|(name, moments)| (name.as_str(), moments.count()));
        self.measured_in(std::iter::once(first).chain(others));
    }

    /// Adds rows that state in how many runs each figure was measured. Omits figures that were
    /// measured in all runs.
    fn measured_in<'a>(&mut self, figures: impl Iterator<Item = (&'a str, u64)>) {
        let runs = self.outcome.summary.runs();
        let mut by_count: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for (name, count) in figures.filter(|(_, count)| *count < runs) {
            by_count.entry(count).or_default().push(name);
        }
        let mut name = "measured";
        for (count, names) in by_count.into_iter().rev() {
            let message = format!("in {count} of {runs} runs: {}", names.join(", "));
            self.rows.add_row(name, &message);
            name = "";
        }
    }

    fn moments(&mut self, name: &str, moments: &Moments) {
        if moments.count() == 0 {
            return;
        }
        let confidence = moments.confidence_interval().map_or("–".to_owned(), |(low, high)| {
            format!("{} … {}", format_figure(low), format_figure(high))
        });
        let deviation = moments.standard_deviation().map_or("–".to_owned(), format_figure);
        let [mean, min, max] = [moments.mean(), moments.min(), moments.max()].map(format_figure);
        self.rows.add_line(&of_runs([name, &mean, &confidence, &deviation, &min, &max]));
    }

    fn theory(&mut self) {
        let unit = self.unit();
        let cost = &self.plan.card.messages;
        let measured = self.outcome.messages.mean();
        let range = match cost.most {
            Some(most) if most == cost.least => format!("{most}"),
            Some(most) => format!("{} to {most}", cost.least),
            None => format!("{} or more", cost.least),
        };
        let is_counted = self.outcome.messages.count() > 0;
        let note = match self.outcome.cost_deviation {
            CostDeviation::Never => "",
            CostDeviation::OnlyDisturbed => "; outside in elections with a crash or recovery",
            CostDeviation::Undisturbed => "; outside this range",
        };
        let formula = cost.formula;
        let all = self.outcome.total_messages.mean();
        let all = match (all - measured).abs() > 1e-9 {
            true => format!(" ({} including lower layers)", format_figure(all)),
            false => String::new(),
        };
        let theory = match formula.is_empty() {
            true => String::new(),
            false => format!("; card: {formula}, here {range}{note}"),
        };
        let message = match is_counted {
            true => {
                format!("{} {unit}{all}{}{theory}", format_figure(measured), self.each_election())
            }
            false if self.is_agreement() => format!("no requests{theory}"),
            false if self.is_election() => format!("no elections{theory}"),
            false => format!("no entries{theory}"),
        };
        self.rows.add_row("messages vs theory", &message);
        if self.outcome.first.ended == EndReason::Stopped {
            return self.rows.add_row("", "no theory for a partial run");
        }
        if !is_counted {
            return;
        }
        if let Some(predicted) = self.outcome.predicted {
            let predicted = format_figure(predicted.mean());
            self.rows.add_row("", &format!("exactly {predicted} predicted for the drawn rings"));
        }
        let Some(expected) = theory::expected_messages(self.plan) else { return };
        let mut message = format!(
            "expected: {} {}",
            expected.precision.qualifier(),
            format_figure(expected.messages)
        );
        if expected.precision == PredictionKind::Mean {
            let messages = &self.outcome.messages;
            match messages.standard_error().filter(|_| messages.count() >= 30) {
                None => message.push_str("; too few runs to compare a mean"),
                Some(0.0) => message.push_str("; all runs have the same number"),
                Some(error) => {
                    let errors = (messages.mean() - expected.messages) / error;
                    message.push_str(&format!(", {errors:+.1} standard errors away"));
                }
            }
        }
        self.rows.add_row("", &message);
    }

    /// Returns a text with the number of messages of each election, if the output is about one run
    /// with several elections. Otherwise, returns an empty text.
    fn each_election(&self) -> String {
        let elections = &self.outcome.first.metrics.elections;
        if !self.is_election() || self.outcome.summary.runs() > 1 || elections.len() < 2 {
            return String::new();
        }
        let each =
            join_with_limit(elections.iter().map(|election| election.messages.to_string()), ", ");
        format!(" ({} elections: {each})", elections.len())
    }

    fn faults(&mut self) {
        let faults = &self.outcome.faults;
        let parts = faults.iter().filter(|(_, (injected, observed))| *injected + *observed > 0);
        let parts: Vec<String> = parts
            .map(|(fault, (injected, observed))| {
                format!("{fault} {injected} injected, {observed} observed")
            })
            .collect();
        let parts = if parts.is_empty() { "none".to_owned() } else { parts.join("; ") };
        self.rows.add_row("faults", &parts);
        for warning in &self.outcome.warnings {
            self.rows.add_row("warning", warning);
        }
    }

    fn verdicts(&mut self) {
        let report = &self.outcome.first;
        let violated: BTreeMap<Property, u64> = self
            .outcome
            .summary
            .violated_properties()
            .map(|(property, it)| (property, it.runs))
            .collect();
        let incomplete: BTreeMap<Property, u64> =
            self.outcome.summary.incomplete_properties().collect();
        let runs = self.outcome.summary.runs();
        let (mut holds, mut undecided) = (Vec::new(), Vec::new());
        let judged = report.findings.iter().map(|finding| finding.property);
        for property in judged.filter(|property| !violated.contains_key(property)) {
            match incomplete.get(&property).copied() {
                None => holds.push(property.to_string()),
                Some(times) if times == runs => undecided.push(property.to_string()),
                Some(times) => undecided.push(format!("{property} (in {times} of {runs} runs)")),
            }
        }
        for (name, properties) in [("holds", holds), ("incomplete", undecided)] {
            if !properties.is_empty() {
                self.rows.add_row(name, &properties.join(", "));
            }
        }
        let unexpected = violated.iter().filter(|(property, _)| !self.plan.is_required(**property));
        let unexpected: Vec<String> = unexpected
            .map(|(property, times)| match runs {
                1 => property.to_string(),
                _ => format!("{property} (in {times} of {runs} runs)"),
            })
            .collect();
        if !unexpected.is_empty() {
            let message = format!("{}: violated, as the card allows", unexpected.join(", "));
            self.rows.add_row("not promised", &message);
        }
    }

    fn violations(&mut self) {
        for violation in &self.outcome.violations {
            let ReplayableViolation { finding, runs, seed, replay, shrunk } = violation;
            let Some(first) = &finding.violation else { continue };
            let time = format_figure(units(first.time as f64));
            let often = match self.outcome.summary.runs() {
                1 => String::new(),
                all => format!(" in {runs} of {all} runs, first"),
            };
            let property = finding.property;
            let message =
                format!("{property}{often} with seed {seed} at {time}: {}", first.message);
            self.rows.add_row("VIOLATED", &message);
            self.rows.add_line(&format!("    again:  {replay}"));
            if let Some(shrunk) = shrunk {
                self.rows.add_line(&format!("    smaller:  {shrunk}"));
            }
        }
    }
}

/// Formats a line of the table for several runs. If the terminal is narrow, leaves out the less
/// important columns.
fn of_runs([name, mean, confidence, deviation, min, max]: [&str; 6]) -> String {
    let line = format!("  {name:<28}{mean:>10}  {confidence:<21}");
    if line_width() < 93 { line } else { format!("{line}{deviation:>10}{min:>10}{max:>10}") }
}

fn units(ticks: f64) -> f64 {
    ticks / TICKS_PER_TIME_UNIT as f64
}

const BY_KIND: &str = "messages.by_kind.";

fn label_of(path: &str) -> String {
    match path.strip_prefix(BY_KIND) {
        Some(kind) => format!("  {kind}"),
        None => path.replace(['.', '_'], " "),
    }
}
