//! Locks in shared memory, by their names. Only the checker executes these locks.

use tenure_algorithms::shared_memory::{Bakery, NAMES, PetersonLock, TestAndSet};
use tenure_algorithms::{UnknownVariant, VariantId, Variants};
use tenure_check::{CheckReport, SharedMemoryLockConfig};
use tenure_core::shared_memory::{SharedMemoryCard, SharedMemoryLock};

/// Returns the names of all locks in shared memory.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Returns the [`SharedMemoryCard`] of a lock for a group of `size` processes. Returns `None` if no
/// lock has this name.
pub fn card(name: &str, size: u32) -> Option<SharedMemoryCard> {
    Some(match name {
        PetersonLock::NAME => PetersonLock::card(size),
        Bakery::NAME => Bakery::card(size),
        TestAndSet::NAME => TestAndSet::card(),
        _ => return None,
    })
}

/// Checks the lock that `config` names, with these variants.
///
/// # Errors
///
/// [`UnknownVariant`] for the first variant that the lock does not declare. Nothing was checked.
///
/// # Panics
///
/// If no lock has the name in `config`.
pub fn check_shared_memory_lock(
    config: &SharedMemoryLockConfig,
    variants: &[String],
) -> Result<CheckReport, UnknownVariant> {
    match &*config.name {
        PetersonLock::NAME => checked::<PetersonLock, _>(config, variants),
        Bakery::NAME => checked::<Bakery, _>(config, variants),
        TestAndSet::NAME => checked::<TestAndSet, _>(config, variants),
        name => panic!("unknown lock in shared memory: {name}"),
    }
}

fn checked<L, S>(
    config: &SharedMemoryLockConfig,
    names: &[String],
) -> Result<CheckReport, UnknownVariant>
where
    L: SharedMemoryLock<Config = Variants<S>>,
    S: VariantId,
{
    let variants = Variants::from_names(names.iter().map(String::as_str))?;
    Ok(tenure_check::check_shared_memory_lock::<L>(config, &variants))
}
