//! Algorithms for Byzantine agreement, by their names. Only the checker executes these algorithms.

use tenure_algorithms::byzantine::OralMessagesGeneral;
use tenure_algorithms::byzantine::oral_messages::Config;
use tenure_algorithms::{UnknownVariant, Variants};
use tenure_check::{ByzantineGeneralsConfig, CheckReport, check_byzantine_generals};
use tenure_core::byzantine::GeneralsCard;

/// Returns the names of all algorithms for Byzantine agreement.
pub fn names() -> impl Iterator<Item = &'static str> {
    [OralMessagesGeneral::NAME].into_iter()
}

/// Returns the [`GeneralsCard`] of an algorithm for `size` generals, of whom `liars` lie. Returns
/// `None` if no algorithm has this name.
pub fn card(name: &str, size: u32, liars: u32) -> Option<GeneralsCard> {
    (name == OralMessagesGeneral::NAME).then(|| OralMessagesGeneral::card(size, liars))
}

/// Checks the oral messages algorithm with these variants.
///
/// # Errors
///
/// [`UnknownVariant`] for the first variant that the algorithm does not declare. Nothing was
/// checked.
pub fn check_oral_messages(
    config: &ByzantineGeneralsConfig,
    variants: &[String],
) -> Result<CheckReport, UnknownVariant> {
    let variants = Variants::from_names(variants.iter().map(String::as_str))?;
    Ok(check_byzantine_generals::<OralMessagesGeneral>(
        config,
        &Config { tolerated_liars: config.max_liars, variants },
    ))
}
