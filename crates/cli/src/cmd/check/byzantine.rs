//! `tenure check byzantine-generals`: agreement among generals, some of whom lie.

use tenure_check::{ByzantineGeneralsConfig, CheckReport};
use tenure_core::Property;
use tenure_core::byzantine::GeneralsCard;
use tenure_instances::byzantine;

use super::checker_only::{properties_to_check, reject_unsupported_options};
use super::config::progress_observer;
use super::options::{DEFAULT_CHECK_SIZE, Options};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt;

/// Properties that the search can decide: IC1 and IC2 of Lamport, Shostak and Pease (1982).
const PROPERTIES: [Property; 2] = [Property::Agreement, Property::Validity];

const DEFAULT_LIARS: u32 = 1;

/// Upper bound on the number of generals. With more generals, there are too many combinations of
/// lies to explore.
const MAX_SIZE: u32 = 8;

/// Returns the [`GeneralsCard`] of the algorithm that the options name. Returns `None` if this
/// algorithm is not an algorithm for Byzantine generals.
pub(super) fn card(options: &Options) -> Option<GeneralsCard> {
    // Makes the card for a supported number of generals. `search` rejects a larger number later.
    let size = options.group.n.unwrap_or(DEFAULT_CHECK_SIZE).min(MAX_SIZE);
    byzantine::card(&options.algorithm, size, options.liars.unwrap_or(DEFAULT_LIARS))
}

pub(super) fn search(
    options: &Options,
    card: &GeneralsCard,
    shows_progress: bool,
) -> Result<CheckReport, Failure> {
    let support = |supported: &mut Options| {
        supported.liars = options.liars;
        supported.group.beyond_assumptions = options.group.beyond_assumptions;
    };
    reject_unsupported_options(
        options,
        support,
        "it has generals of whom some lie, and no other faults",
    )?;
    let size = options.group.size_in(2..=MAX_SIZE)?;
    let liars = options.liars.unwrap_or(DEFAULT_LIARS);
    if size < card.least_generals && !options.group.beyond_assumptions {
        return Err(Failure::usage(format!(
            "{} assumes n > 3m, at least {} generals for m = {liars}: raise -n, or add \
             --beyond-assumptions",
            card.name, card.least_generals
        )));
    }
    let mut config = ByzantineGeneralsConfig::new(card.name, size, liars);
    config.properties = properties_to_check(options, &PROPERTIES, &PROPERTIES)?;
    config.limits = options.limits();
    config.stop_flag = Some(interrupt::flag());
    config.on_progress = progress_observer(shows_progress);
    byzantine::check_oral_messages(&config, &options.group.variant).map_err(Failure::usage)
}
