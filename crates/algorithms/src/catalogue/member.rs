//! Trait that maps a lock or an election to its sum type: the one type that contains all algorithms
//! of its service.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{Coordinated, MutexOnly};

/// A lock or an election that is a member of a sum type. All locks share one sum type, and all
/// elections share another.
///
/// The configuration of the sum type selects the algorithm. Code that is generic over a protocol is
/// compiled once for each sum type, and not once for each algorithm.
pub trait SumMember: Algorithm {
    /// The sum type that contains this algorithm.
    type Sum: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// Converts `config` to a configuration of [`SumMember::Sum`], which then runs this algorithm.
    fn sum_config(config: Self::Config) -> SumConfig<Self>;
}

/// Configuration of the sum type that contains the algorithm `P` ([`SumMember::Sum`]).
pub type SumConfig<P> = <<P as SumMember>::Sum as Protocol>::Config;

impl<C> fifo::Config<C> {
    pub(crate) fn map<D>(self, inner: impl FnOnce(C) -> D) -> fifo::Config<D> {
        fifo::Config {
            window: self.window,
            resend_timeout: self.resend_timeout,
            inner: inner(self.inner),
        }
    }
}

/// A lock that the leader of the election `E` grants. The local user sees only the lock, and not
/// the commands and events of the election.
pub(crate) type LockAtLeader<E> = MutexOnly<Coordinated<E>>;

/// Implements [`SumMember`] for a lock or an election, and for the same algorithm over a reliable
/// channel. For a lock, also implements the trait for the election that is made from this lock. For
/// an election, also implements the trait for the lock that the leader of this election grants. The
/// caller must have a module `sum` in scope, which contains the sum type of the listed algorithms.
macro_rules! member {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_locks, $Type);

        impl $crate::catalogue::SumMember for $crate::reduction::ElectionFromMutex<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::all_elections::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::catalogue_entries::all_elections::config_by_lock(
                    sum::Config::$Type(config),
                )
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_elections, $Type);

        impl $crate::catalogue::SumMember for $crate::catalogue::member::LockAtLeader<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::all_locks::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::catalogue_entries::all_locks::config_at_leader(config)
            }
        }
    };
    // Agreement algorithms have no common type of commands, so they do not implement `SumMember`.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::SumMember for $Type {
            type Sum = $crate::catalogue::catalogue_entries::$all::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::catalogue_entries::$all::plain_config(sum::Config::$Type(config))
            }
        }

        impl $crate::catalogue::SumMember for $crate::channel::Fifo<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::$all::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::catalogue_entries::$all::config_over_fifo(config)
            }
        }
    };
}

pub(crate) use member;
