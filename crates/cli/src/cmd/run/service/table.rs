//! Formats the result of a run of the lock service as a table.

use super::summary::{ServiceRunSummary, ValueStats};
use crate::cmd::rows::LabelledRows;
use crate::cmd::run::table::{TEXT_COLUMN, format_millis, group_digits};

pub(super) fn table(summary: &ServiceRunSummary) -> String {
    let mut table = LabelledRows::with_text_column(&head(summary), TEXT_COLUMN);
    table.add_row("critical-section entries", &group_digits(summary.entries));
    table.add_row("entries per second", &group_digits(summary.entries_per_second.round() as u64));
    table.add_latency_row("time to acquire", summary.latency_ms);
    table.add_latency_row("failover time", summary.failover_ms);
    if let Some(gap) = summary.longest_gap_ms {
        table.add_row("longest gap", &format!("{} between two entries", format_millis(gap)));
    }
    table.add_row("injected faults", &faults(summary));
    table.add_partition_rows(&summary.partitions);
    table.add_lost_updates_row(summary.counter);
    if let Some(ValueStats { put, acknowledged, bytes, read, read_in_the_end }) = summary.values {
        let mib = bytes as f64 / f64::from(1 << 20);
        let puts = format!("{acknowledged} of {put} puts acknowledged, {mib:.1} MiB");
        table.add_row("values", &format!("{puts}; {read} reads, {read_in_the_end} final reads"));
    }
    let rejected = match summary.refused {
        0 => "none".to_owned(),
        many => format!("{}, with stale fencing tokens", group_digits(many)),
    };
    table.add_row("rejected accesses", &rejected);
    for judged in ["holds", "incomplete", "violated"] {
        let same = summary.verdicts.iter().filter(|(_, verdict)| **verdict == judged);
        let same: Vec<&str> = same.map(|(name, _)| name.as_str()).collect();
        if !same.is_empty() {
            table.add_row(judged, &same.join(", "));
        }
    }
    let violated = summary.violated.iter();
    let violated = violated.map(|it| format!("{}: {}", it.promise.name(), it.description));
    table.add_notes_and_violations(&summary.notes, summary.lock, violated.collect());
    table.into_text_with_files(summary.directory.as_deref())
}

fn faults(summary: &ServiceRunSummary) -> String {
    match (summary.faults, summary.kills) {
        (0, _) => "none".to_owned(),
        (faults, 1) => format!("{faults}, 1 kill"),
        (faults, kills) => format!("{faults}, {kills} kills"),
    }
}

fn head(summary: &ServiceRunSummary) -> String {
    let ServiceRunSummary { members, clients, seconds, seed, .. } = summary;
    let many = if *members == 1 { "member" } else { "members" };
    let asking = if *clients == 1 { "client" } else { "clients" };
    let lock = if summary.lock { "one lock" } else { "no lock" };
    let ended = if summary.interrupted { ", interrupted" } else { "" };
    format!(
        "service of {members} {many}, {clients} {asking}, {lock}, {seconds:.1} s of work, seed \
         {seed}{ended}"
    )
}
