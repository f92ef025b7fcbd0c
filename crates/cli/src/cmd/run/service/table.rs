//! Formats the result of a run of the lock service as a table.

use super::summary::{Summary, ValueStats};
use crate::cmd::rows::Rows;
use crate::cmd::run::table::{COLUMN, grouped, millis};

pub(super) fn table(summary: &Summary) -> String {
    let mut table = Rows::with_column(&head(summary), COLUMN);
    table.row("critical-section entries", &grouped(summary.entries));
    table.row("entries per second", &grouped(summary.entries_per_second.round() as u64));
    table.latency("time to acquire", summary.latency_ms);
    table.latency("failover time", summary.failover_ms);
    if let Some(gap) = summary.longest_gap_ms {
        table.row("longest gap", &format!("{} between two entries", millis(gap)));
    }
    table.row("injected faults", &faults(summary));
    table.partitions(&summary.partitions);
    table.lost_updates(summary.counter);
    if let Some(ValueStats { put, acknowledged, bytes, read, read_in_the_end }) = summary.values {
        let mib = bytes as f64 / f64::from(1 << 20);
        let puts = format!("{acknowledged} of {put} puts acknowledged, {mib:.1} MiB");
        table.row("values", &format!("{puts}; {read} reads, {read_in_the_end} final reads"));
    }
    let rejected = match summary.refused {
        0 => "none".to_owned(),
        many => format!("{}, with stale fencing tokens", grouped(many)),
    };
    table.row("rejected accesses", &rejected);
    for judged in ["holds", "incomplete", "violated"] {
        let same = summary.verdicts.iter().filter(|(_, verdict)| **verdict == judged);
        let same: Vec<&str> = same.map(|(name, _)| name.as_str()).collect();
        if !same.is_empty() {
            table.row(judged, &same.join(", "));
        }
    }
    let violated = summary.violated.iter();
    let violated = violated.map(|it| format!("{}: {}", it.promise.name(), it.description));
    table.verdict(&summary.notes, summary.lock, violated.collect());
    table.finish(summary.directory.as_deref())
}

fn faults(summary: &Summary) -> String {
    match (summary.faults, summary.kills) {
        (0, _) => "none".to_owned(),
        (faults, 1) => format!("{faults}, 1 kill"),
        (faults, kills) => format!("{faults}, {kills} kills"),
    }
}

fn head(summary: &Summary) -> String {
    let Summary { members, clients, seconds, seed, .. } = summary;
    let many = if *members == 1 { "member" } else { "members" };
    let asking = if *clients == 1 { "client" } else { "clients" };
    let lock = if summary.lock { "one lock" } else { "no lock" };
    let ended = if summary.interrupted { ", interrupted" } else { "" };
    format!(
        "service of {members} {many}, {clients} {asking}, {lock}, {seconds:.1} s of work, seed \
         {seed}{ended}"
    )
}
