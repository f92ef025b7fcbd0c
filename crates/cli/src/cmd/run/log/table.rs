//! The one table that a run of a log prints.

use crate::cmd::run::log::summary::{Entries, Operations, Summary};
use crate::cmd::run::table::{Table, grouped, verdicts};

/// The table, ready to be printed.
pub(in crate::cmd::run) fn table(summary: &Summary) -> String {
    let mut table = Table::default();
    table.head(&head(summary));
    let Operations { answered, increments, writes, reads, unknown, refusals, repeats } =
        summary.operations;
    let [increments, writes, reads] = [increments, writes, reads].map(grouped);
    table.row(
        "operations",
        &format!("{}: {increments} increments, {writes} writes, {reads} reads", grouped(answered)),
    );
    let rate = summary.operations_per_second.round() as u64;
    table.row("per second", &grouped(rate));
    table.latency("latency", summary.latency_ms);
    table.latency("after a kill", summary.failover_ms);
    table.latency("after a departure", summary.handover_ms);
    table.row(
        "refused",
        &format!(
            "{} times, and asked again; {} times in doubt",
            grouped(refusals),
            grouped(repeats)
        ),
    );
    let doubtful = || format!("{} increments or writes were never answered", grouped(unknown));
    table.row("unknown", &if unknown == 0 { "none".to_owned() } else { doubtful() });
    table.elections(&summary.elections);
    table.partitions(&summary.partitions);
    table.row("log", &log(&summary.entries));
    table.counter(summary.counter);
    let shown = verdicts(&summary.verdicts, &summary.not_promised, |property| property.name());
    shown.iter().for_each(|(name, says)| table.row(name, says));
    table.verdict(&summary.notes, &summary.violated);
    if let Some(directory) = &summary.directory {
        table.row("files", directory);
    }
    table.finish()
}

fn head(summary: &Summary) -> String {
    let Summary { nodes, log, variants, clients, seed, seconds, interrupted, .. } = summary;
    let many = if *nodes == 1 { "node" } else { "nodes" };
    let wrong = match &variants[..] {
        [] => String::new(),
        variants => format!(" ({})", variants.join(", ")),
    };
    let asking = if *clients == 1 { "client" } else { "clients" };
    let ended = if *interrupted { ", interrupted" } else { "" };
    format!(
        "{nodes} {many}, log {log}{wrong}, {clients} {asking}, {seconds:.1} s of work, seed \
         {seed}{ended}"
    )
}

fn log(Entries { committed, terms, told, snapshots, snapshots_sent }: &Entries) -> String {
    let told: Vec<String> = told.iter().map(|number| format!("P{number}")).collect();
    let terms = match terms {
        None => return "no entries".to_owned(),
        Some((first, last)) if first == last => format!("term {first}"),
        Some((first, last)) => format!("terms {first} to {last}"),
    };
    let snapshots = match (snapshots, snapshots_sent) {
        (0, _) => String::new(),
        (_, 0) => format!("; {} snapshots", grouped(*snapshots)),
        (_, sent) => {
            format!("; {} snapshots, {} of them sent", grouped(*snapshots), grouped(*sent))
        }
    };
    format!(
        "{} entries of {terms}, in one order, told to {}{snapshots}",
        grouped(*committed),
        told.join(" ")
    )
}
