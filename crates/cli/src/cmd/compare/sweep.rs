//! Messages and delays against the number of processes, measured and predicted.

use tenure_algorithms::catalogue::Parameters;
use tenure_sim::{Ended, Entries, Moments};

use super::Kind;
use super::plot::{self, Curve, Picture};
use crate::cmd::failure::Failure;
use crate::cmd::group::{DEFAULT_SIZE, EntriesAsked};
use crate::cmd::interrupt;
use crate::cmd::simulate::books;
use crate::cmd::simulate::experiment::Interrupt;
use crate::cmd::simulate::options::RunOptions;
use crate::cmd::simulate::plan::Plan;

/// The sizes that are measured; the size that was asked for comes along.
const SIZES: [u32; 9] = [2, 3, 5, 7, 10, 14, 20, 28, 40];

/// A run that takes more events than this has no place in the picture, and larger groups have
/// none either: an algorithm whose messages multiply would fill the memory.
const MOST_EVENTS: u64 = 50_000;

/// Measures every algorithm in groups of many sizes: what it sends, and how long it takes.
pub(super) fn sweep(
    kind: Kind,
    rows: &[&'static str],
    options: &RunOptions,
    runs: u64,
    interrupt: &Interrupt,
) -> Result<[Picture; 2], Failure> {
    let figure = match kind {
        Kind::Mutex => "delays.synchronisation.mean",
        Kind::Election => "election_time",
        Kind::Agreement => "agreement_time",
    };
    let mut sizes = SIZES.to_vec();
    sizes.push(options.group.n.unwrap_or(DEFAULT_SIZE));
    sizes.retain(|size| *size > 1);
    sizes.sort_unstable();
    sizes.dedup();
    let (mut messages, mut delays) = (Vec::new(), Vec::new());
    for name in rows.iter().copied() {
        let card = tenure_instances::card(name, &Parameters::plain(DEFAULT_SIZE));
        let family = card.as_ref().map_or("", plot::family);
        let (mut sent, mut delayed) = (Curve::new(name, family), Curve::new(name, family));
        for size in &sizes {
            let mut options = options.clone();
            options.group.n = Some(*size);
            // Not every size has every quorum, and a list may name a process too many.
            let Ok(plan) = Plan::new(name, &options, &[]) else { continue };
            let plan = plan.giving_up_after(MOST_EVENTS + needed(&options, *size));
            let outcome = plan.perform(runs, options.threads, None, interrupt)?;
            interrupt::check("before the picture was drawn")?;
            if matches!(outcome.first.ended, Ended::Events | Ended::Flooded) || outcome.incomplete {
                eprintln!(
                    "tenure: {name} is not drawn from {size} processes on: it takes too long"
                );
                break;
            }
            sent.measured(*size, outcome.messages.mean());
            sent.predicted(*size, theory(&plan));
            if let Some(delay) = outcome.summary.figure(figure).map(Moments::mean) {
                delayed.measured(*size, delay);
            }
            delayed.predicted(*size, books::delays(&plan));
        }
        messages.push(sent);
        delays.push(delayed);
    }
    let [messages_unit, delays_unit] = match kind {
        Kind::Mutex => ["messages per entry", "delay from exit to entry"],
        Kind::Election => ["messages per election", "time until all know"],
        Kind::Agreement => ["messages per agreement", "time until all are told"],
    };
    Ok([Picture::new(messages_unit, messages), Picture::new(delays_unit, delays)])
}

/// More events than the entries that are asked for take.
fn needed(options: &RunOptions, size: u32) -> u64 {
    let each = match &options.group.entries {
        Some(EntriesAsked::Of(Entries::Each(each))) => u64::from(*each) * u64::from(size),
        Some(EntriesAsked::Of(Entries::Listed(listed))) => {
            listed.iter().map(|each| u64::from(*each)).sum()
        }
        _ => u64::from(size),
    };
    options.sequential.unwrap_or(each) * 20 * u64::from(size)
}

/// What theory expects; else where the card begins and ends.
fn theory(plan: &Plan) -> Vec<f64> {
    if let Some(expected) = books::expected(plan) {
        return vec![expected.messages];
    }
    let cost = &plan.card.messages;
    let ends = [Some(cost.least), cost.most];
    ends.into_iter().flatten().map(|end| end as f64).collect()
}
