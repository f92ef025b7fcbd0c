//! The result of a run of a log as a table.

use crate::cmd::run::log::summary::{Entries, Operations, Summary};
use crate::cmd::run::table::{Table, grouped, verdicts};

/// Formats the result as a table.
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
    table.row("operations per second", &grouped(rate));
    table.latency("operation latency", summary.latency_ms);
    table.latency("failover time", summary.failover_ms);
    table.latency("handover time", summary.handover_ms);
    table.row(
        "rejections",
        &format!(
            "{}, each retried; {} retries of uncertain operations",
            grouped(refusals),
            grouped(repeats)
        ),
    );
    let without_response =
        || format!("{} increments or writes without a response", grouped(unknown));
    table.row(
        "unknown outcomes",
        &if unknown == 0 { "none".to_owned() } else { without_response() },
    );
    table.elections(&summary.elections);
    table.partitions(&summary.partitions);
    table.row("replicated log", &log(&summary.entries));
    table.counter(summary.counter);
    let shown = verdicts(&summary.verdicts, &summary.not_promised, |property| property.name());
    shown.iter().for_each(|(name, message)| table.row(name, message));
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

fn log(
    Entries { committed, terms, told: applied_by, snapshots, snapshots_sent }: &Entries,
) -> String {
    let applied_by: Vec<String> = applied_by.iter().map(|number| format!("P{number}")).collect();
    let terms = match terms {
        None => return "no entries".to_owned(),
        Some((first, last)) if first == last => format!("term {first}"),
        Some((first, last)) => format!("terms {first} to {last}"),
    };
    let snapshots = match (snapshots, snapshots_sent) {
        (0, _) => String::new(),
        (_, 0) => format!("; {} snapshots", grouped(*snapshots)),
        (_, sent) => {
            format!("; {} snapshots, {} sent to followers", grouped(*snapshots), grouped(*sent))
        }
    };
    format!(
        "{} entries of {terms}, in the same order at {}{snapshots}",
        grouped(*committed),
        applied_by.join(" ")
    )
}
