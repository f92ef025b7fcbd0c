//! Measures messages and delays as a function of the number of processes, and compares them with
//! theory.

use std::num::NonZeroU64;

use tenure_algorithms::catalogue::Parameters;
use tenure_sim::{EndReason, EntriesPerProcess, Moments};

use super::ComparedService;
use super::plot::{self, AlgorithmCurves, Plot};
use crate::cmd::capture::print_stderr_line;
use crate::cmd::failure::Failure;
use crate::cmd::group::{DEFAULT_GROUP_SIZE, EntriesOption};
use crate::cmd::interrupt;
use crate::cmd::simulate::options::RunOptions;
use crate::cmd::simulate::plan::{SimulationPlan, split_variants};
use crate::cmd::simulate::theory;

/// Group sizes that are measured in addition to the size that `-n` gives, or the default size.
const SIZES: [u32; 9] = [2, 3, 5, 7, 10, 14, 20, 28, 40];

/// Maximum number of events of a run beyond those that its entries need. If the first run reaches
/// this limit, the plot omits the algorithm at this group size and at larger sizes. Without this
/// limit, a run in which messages multiply would fill the memory.
const MAX_EVENTS: u64 = 50_000;

pub(super) fn plot_over_group_sizes(
    kind: ComparedService,
    names: &[String],
    options: &RunOptions,
    runs: u64,
) -> Result<[Plot; 2], Failure> {
    let figure = match kind {
        ComparedService::Mutex => "delays.synchronisation.mean",
        ComparedService::Election => "election_time",
        ComparedService::Agreement => "agreement_time",
    };
    let mut sizes = SIZES.to_vec();
    sizes.push(options.group.n.unwrap_or(DEFAULT_GROUP_SIZE));
    sizes.retain(|size| *size > 1);
    sizes.sort_unstable();
    sizes.dedup();
    let (mut messages, mut delays) = (Vec::new(), Vec::new());
    for name in names {
        let plain = split_variants(name).0;
        let card = tenure_instances::card(plain, &Parameters::with_defaults(DEFAULT_GROUP_SIZE));
        let family = card.as_ref().map_or("", plot::algorithm_family);
        let (mut sent, mut delayed) =
            (AlgorithmCurves::new(name, family), AlgorithmCurves::new(name, family));
        for size in &sizes {
            let mut options = options.clone();
            options.group.n = Some(*size);
            // Skips a group size for which the options are invalid. For example, some quorum
            // systems exist only for some sizes, and a list in an option may name a process that a
            // small group lacks.
            let Ok(plan) = SimulationPlan::new(name, &options, &[]) else { continue };
            let plan = plan.with_event_limit(MAX_EVENTS + events_needed(&options, *size));
            let outcome = plan.perform_runs(runs, options.threads(), None)?;
            interrupt::fail_if_interrupted("before the picture was drawn")?;
            if matches!(outcome.first.ended, EndReason::EventLimit | EndReason::Flooded)
                || outcome.incomplete
            {
                print_stderr_line(&format!(
                    "tenure: {name} is not drawn for {size} or more processes: its runs take too \
                     long"
                ));
                break;
            }
            sent.add_measured(*size, outcome.messages.mean());
            sent.add_predicted(*size, theory(&plan));
            if let Some(delay) = outcome.summary.measurement(figure).map(Moments::mean) {
                delayed.add_measured(*size, delay);
            }
            delayed.add_predicted(*size, theory::expected_delay_range(&plan));
        }
        messages.push(sent);
        delays.push(delayed);
    }
    let [sent, delay] = match kind {
        ComparedService::Mutex => ["messages per entry", "delay from exit to entry"],
        ComparedService::Election => ["messages per election", "time to elect"],
        ComparedService::Agreement => ["messages per agreement", "time to decide"],
    };
    Ok([Plot::new(sent, None, messages), Plot::new(delay, Some("units"), delays)])
}

fn events_needed(options: &RunOptions, size: u32) -> u64 {
    let each = match &options.group.entries {
        Some(EntriesOption::Of(EntriesPerProcess::Each(each))) => {
            u64::from(*each) * u64::from(size)
        }
        Some(EntriesOption::Of(EntriesPerProcess::Listed(listed))) => {
            listed.iter().map(|each| u64::from(*each)).sum()
        }
        _ => u64::from(size),
    };
    options.sequential.map_or(each, NonZeroU64::get) * 20 * u64::from(size)
}

/// Returns the number of messages per entry, election or agreement that theory predicts. If theory
/// predicts no number, returns the lower bound on the algorithm's card, and the upper bound if
/// there is one.
fn theory(plan: &SimulationPlan) -> Vec<f64> {
    if let Some(expected) = theory::expected_messages(plan) {
        return vec![expected.messages];
    }
    let cost = &plan.card.messages;
    let ends = [Some(cost.least), cost.most];
    ends.into_iter().flatten().map(|end| end as f64).collect()
}
