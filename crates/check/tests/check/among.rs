//! Algorithms of the catalogue as they are checked here: each among all that offer its service, so
//! that the checker is compiled for one type of lock and one of election instead of for each.

use tenure_algorithms::catalogue::Member;
use tenure_check::{Check, Checkable};

/// A check of an algorithm, among all of its service.
pub(crate) type Among<P> = Check<<P as Member>::All>;

/// A check of this algorithm with the default configuration.
pub(crate) fn of<P>(size: u32) -> Among<P>
where
    P: Member<All: Checkable, Config: Default>,
{
    with::<P>(size, P::Config::default())
}

/// A check of this algorithm.
pub(crate) fn with<P>(size: u32, config: P::Config) -> Among<P>
where
    P: Member<All: Checkable>,
{
    let card = P::card(&config, size);
    Check::with(size, P::among_all(config)).named(card.name)
}
