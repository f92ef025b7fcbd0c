//! Trait that maps an algorithm to a sum type. A sum type is one type for all algorithms of the
//! same service.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{Coordinated, MutexOnly};

/// A lock or an election that can run as a part of the type that all locks share, or that all
/// elections share.
///
/// The configuration of the shared type selects the algorithm. Generic code is compiled once for
/// each of the two types, and not once for each algorithm.
pub trait SumMember: Algorithm {
    /// The sum type of all algorithms of this service.
    type Sum: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// Converts `config` to a configuration of [`SumMember::Sum`], which then runs this algorithm.
    fn sum_config(config: Self::Config) -> SumConfig<Self>;
}

/// Configuration of the sum type that contains the algorithm `P` ([`SumMember::Sum`]).
pub type SumConfig<P> = <<P as SumMember>::Sum as Protocol>::Config;

impl<C> fifo::Config<C> {
    pub(crate) fn map<D>(self, inner: impl FnOnce(C) -> D) -> fifo::Config<D> {
        fifo::Config { window: self.window, resend: self.resend, inner: inner(self.inner) }
    }
}

/// The lock at the leader of the election `E`, without the election's commands and events.
pub(crate) type AtLeader<E> = MutexOnly<Coordinated<E>>;

/// Implements [`SumMember`] for an algorithm and for the protocols that are composed of it: an
/// election made of a lock, and a lock at the leader of an election. Each is implemented for
/// unreliable links and for a reliable channel. The caller must have a module `sum` in scope, with
/// the sum type of its algorithms.
macro_rules! member {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_locks, $Type);

        impl $crate::catalogue::SumMember for $crate::reduction::ElectionFromMutex<$Type> {
            type Sum = $crate::catalogue::members::all_elections::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::members::all_elections::by_lock(sum::Config::$Type(config))
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_elections, $Type);

        impl $crate::catalogue::SumMember for $crate::catalogue::member::AtLeader<$Type> {
            type Sum = $crate::catalogue::members::all_locks::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::members::all_locks::at_leader(config)
            }
        }
    };
    // Agreement algorithms have no common type of commands, so they do not implement `SumMember`.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::SumMember for $Type {
            type Sum = $crate::catalogue::members::$all::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::members::$all::plain(sum::Config::$Type(config))
            }
        }

        impl $crate::catalogue::SumMember for $crate::channel::Fifo<$Type> {
            type Sum = $crate::catalogue::members::$all::sum::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(sum::Config::$Type);
                $crate::catalogue::members::$all::over_fifo(config)
            }
        }
    };
}

pub(crate) use member;
