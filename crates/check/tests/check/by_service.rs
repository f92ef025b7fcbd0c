//! Checks of catalogue algorithms. Each algorithm runs as a member of one type for its service. So
//! the checker is compiled once per service instead of once per algorithm.

use tenure_algorithms::catalogue::Member;
use tenure_check::{Check, Checkable};

/// A check of an algorithm as a member of its service's type.
pub(crate) type ServiceCheck<P> = Check<<P as Member>::All>;

/// Creates a check with the default configuration.
pub(crate) fn of<P>(size: u32) -> ServiceCheck<P>
where
    P: Member<All: Checkable, Config: Default>,
{
    with::<P>(size, P::Config::default())
}

/// Creates a check with the given configuration.
pub(crate) fn with<P>(size: u32, config: P::Config) -> ServiceCheck<P>
where
    P: Member<All: Checkable>,
{
    let card = P::card(&config, size);
    Check::with(size, P::among_all(config)).configure(|config| config.name = card.name)
}
