//! Trait that maps a lock or an election to its sum type: the one type that contains all algorithms
//! of its service.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{CoordinatedLock, MutexOnly};

/// A lock or an election that is a member of a sum type. All locks share one sum type, and all
/// elections share another.
///
/// The configuration of the sum type selects the algorithm. Code that is generic over a protocol is
/// compiled once for each sum type, and not once for each algorithm.
pub trait SumTypeMember: Algorithm {
    /// The sum type that contains this algorithm.
    type Sum: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// Converts `config` to a configuration of [`SumTypeMember::Sum`], which then runs this
    /// algorithm.
    fn to_sum_type_config(config: Self::Config) -> SumTypeConfig<Self>;
}

/// Configuration of the sum type that contains the algorithm `P` ([`SumTypeMember::Sum`]).
pub type SumTypeConfig<P> = <<P as SumTypeMember>::Sum as Protocol>::Config;

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
pub(crate) type LockAtLeader<E> = MutexOnly<CoordinatedLock<E>>;

/// Implements [`SumTypeMember`] for a lock or an election, and for the same algorithm over a
/// reliable channel. For a lock, also implements the trait for the election that is made from this
/// lock. For an election, also implements the trait for the lock that the leader of this election
/// grants. The caller must have a module `sum` in scope, which contains the sum type of the listed
/// algorithms.
macro_rules! member {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_locks, $Type);

        impl $crate::catalogue::SumTypeMember for $crate::reduction::ElectionFromMutex<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::all_elections::sum::Any;

            fn to_sum_type_config(
                config: Self::Config,
            ) -> $crate::catalogue::member::SumTypeConfig<Self> {
                $crate::catalogue::catalogue_entries::all_elections::config_by_lock(
                    sum::Config::$Type(config),
                )
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_elections, $Type);

        impl $crate::catalogue::SumTypeMember for $crate::catalogue::member::LockAtLeader<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::all_locks::sum::Any;

            fn to_sum_type_config(
                config: Self::Config,
            ) -> $crate::catalogue::member::SumTypeConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::catalogue_entries::all_locks::config_at_leader(config)
            }
        }
    };
    // Agreement algorithms have no common type of commands, so they do not implement
    // `SumTypeMember`.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::SumTypeMember for $Type {
            type Sum = $crate::catalogue::catalogue_entries::$all::sum::Any;

            fn to_sum_type_config(
                config: Self::Config,
            ) -> $crate::catalogue::member::SumTypeConfig<Self> {
                $crate::catalogue::catalogue_entries::$all::plain_config(sum::Config::$Type(config))
            }
        }

        impl $crate::catalogue::SumTypeMember for $crate::channel::FifoChannel<$Type> {
            type Sum = $crate::catalogue::catalogue_entries::$all::sum::Any;

            fn to_sum_type_config(
                config: Self::Config,
            ) -> $crate::catalogue::member::SumTypeConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::catalogue_entries::$all::config_over_fifo(config)
            }
        }
    };
}

pub(crate) use member;
