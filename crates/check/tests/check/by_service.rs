//! Checks of algorithms of the catalogue. All algorithms of one service are members of one Rust
//! type, [`SumTypeMember::Sum`], and the checks use this type. So the checker is compiled once per
//! service instead of once per algorithm.

use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::{VariantId, Variants};
use tenure_check::{Check, Checkable};
use tenure_core::Protocol;

/// A check of the algorithm `P`. The checker runs the type `P::Sum`, which combines all algorithms
/// of the service.
pub(crate) type ServiceCheck<P> = Check<<P as SumTypeMember>::Sum>;

pub(crate) fn of<P>(size: u32) -> ServiceCheck<P>
where
    P: SumTypeMember<Sum: Checkable, Config: Default>,
{
    with::<P>(size, P::Config::default())
}

pub(crate) fn with<P>(size: u32, config: P::Config) -> ServiceCheck<P>
where
    P: SumTypeMember<Sum: Checkable>,
{
    let card = P::card(&config, size);
    Check::with_protocol_config(size, P::to_sum_type_config(config))
        .configure(|config| config.name = card.name)
}

/// Creates a check of two processes over the reliable channel. The window of the channel and each
/// link hold at most two messages.
pub(crate) fn over_channel<P: Protocol>(config: P::Config) -> ServiceCheck<FifoChannel<P>>
where
    FifoChannel<P>: SumTypeMember<Sum: Checkable, Config = fifo::Config<P::Config>>,
{
    let config = fifo::Config { window: 2, ..fifo::Config::with_inner_config(config) };
    with::<FifoChannel<P>>(2, config).in_flight_per_link(2)
}

/// Makes a check begin after the steps in `steps`, which are separated by `; `.
pub(crate) fn after<P: Checkable>(check: Check<P>, steps: &str) -> Check<P> {
    let steps = steps.split("; ").filter(|step| !step.is_empty());
    let steps = steps.map(|step| step.parse().expect("an action")).collect();
    check.configure(|config| config.model.prefix = steps)
}

pub(crate) fn variants<S: VariantId>(switches: &[S]) -> Variants<S> {
    switches.iter().fold(Variants::none(), |all, one| all.with(*one))
}
