//! `tenure check` of a lock in shared memory.

use tenure_check::{CheckReport, RequestLimit, RequestLimits, SharedMemoryLockConfig};
use tenure_core::Property;
use tenure_core::shared_memory::SharedMemoryCard;
use tenure_instances::shared_memory;

use super::checker_only::{properties_to_check, reject_unsupported_options};
use super::config::progress_observer;
use super::options::{DEFAULT_CHECK_SIZE, Options};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt;

const DEFAULT_TICKET_MAX: u32 = 4;

const PROPERTIES: [Property; 5] = [
    Property::MutualExclusion,
    Property::DeadlockFreedom,
    Property::StarvationFreedom,
    Property::FirstComeFirstServed,
    Property::Bypass(None),
];

/// Greatest bound on bypass that can be checked. For each process, a state contains the number of
/// entries up to the bound, so a larger bound leads to more states.
const MAX_BYPASS: u32 = 64;

/// Greatest number of processes that can be checked. With more, the states do not fit into the
/// memory of ordinary machines.
const MAX_SIZE: u32 = 8;

pub(super) fn card(options: &Options) -> Option<SharedMemoryCard> {
    // Makes the card for a supported number of processes. `config` rejects a larger number later.
    let size = options.group.n.unwrap_or(DEFAULT_CHECK_SIZE).min(MAX_SIZE);
    shared_memory::card(&options.algorithm, size)
}

pub(super) fn search(
    options: &Options,
    card: &SharedMemoryCard,
    shows_progress: bool,
) -> Result<CheckReport, Failure> {
    let mut config = config(options, card)?;
    config.on_progress = progress_observer(shows_progress);
    shared_memory::check_shared_memory_lock(&config, &options.group.variant).map_err(Failure::usage)
}

fn config(options: &Options, card: &SharedMemoryCard) -> Result<SharedMemoryLockConfig, Failure> {
    let support = |supported: &mut Options| {
        supported.group.entries.clone_from(&options.group.entries);
        supported.fairness = options.fairness;
        supported.ticket_max = options.ticket_max;
    };
    reject_unsupported_options(
        options,
        support,
        "it is a lock in shared memory, without messages",
    )?;
    let size = options.group.size_in(2..=MAX_SIZE)?;
    if options.ticket_max.is_some() && card.unbounded.is_none() {
        let message = format!("--ticket-max does not apply to {}: it has no tickets", card.name);
        return Err(Failure::usage(message));
    }
    let judged = properties_to_check(options, &card.promises, &PROPERTIES)?;
    let is_too_large =
        |it: &&Property| matches!(it, Property::Bypass(Some(most)) if *most > MAX_BYPASS);
    if let Some(property) = judged.iter().find(is_too_large) {
        return Err(Failure::usage(format!(
            "invalid bound in --property {property} for {}: expected at most {MAX_BYPASS}",
            card.name
        )));
    }
    let mut config = SharedMemoryLockConfig::new(card.name, size, judged);
    if options.group.entries.is_some() {
        config.entries = match options.entry_limits(size) {
            RequestLimits::Same(each) => vec![each; size as usize],
            RequestLimits::PerProcess(entries) => entries,
        };
    }
    let is_endless = config.entries.contains(&RequestLimit::Unbounded);
    let bounded = card.unbounded.filter(|_| is_endless || options.ticket_max.is_some());
    config.register_bound =
        bounded.map(|name| (name, options.ticket_max.unwrap_or(DEFAULT_TICKET_MAX)));
    config.fairness = options.fairness.into();
    config.limits = options.limits();
    config.stop_flag = Some(interrupt::flag());
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_on_memory_counts_memory_of_the_process() {
        let options = Options::parse_line("bakery -n 3 --max-memory 64M").expect("valid options");
        let card = card(&options).expect("a lock in shared memory");
        let limits = config(&options, &card).expect("a valid check").limits;
        assert_eq!(limits.bytes, Some(64 << 20));
        assert!(limits.memory_reader.is_some());
    }
}
