//! Trait that leads from an algorithm to a sum type: one type for all algorithms of the same
//! service.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{Coordinated, MutexOnly};

/// A lock or an election that belongs to the sum type of its service.
///
/// One type contains all locks, and another type contains all elections. The configuration of such
/// a type selects the algorithm. So generic code is compiled once for each of the two types, and
/// not once for each algorithm.
pub trait SumMember: Algorithm {
    /// The sum type of all algorithms of this service.
    type Sum: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// Returns the configuration of [`SumMember::Sum`] that selects this algorithm and contains
    /// `config`.
    fn sum_config(config: Self::Config) -> SumConfig<Self>;
}

/// Configuration of [`SumMember::Sum`], the sum type to which the algorithm `P` belongs.
pub type SumConfig<P> = <<P as SumMember>::Sum as Protocol>::Config;

impl<C> fifo::Config<C> {
    pub(crate) fn map<D>(self, inner: impl FnOnce(C) -> D) -> fifo::Config<D> {
        fifo::Config { window: self.window, resend: self.resend, inner: inner(self.inner) }
    }
}

/// The lock at the leader of the election `E`, without the election's commands and events.
pub(crate) type AtLeader<E> = MutexOnly<Coordinated<E>>;

/// Implements [`SumMember`] for an algorithm and for its compositions: an election made of a lock,
/// and a lock at the leader of an election. Each implementation exists over unreliable links and
/// over a reliable channel. The caller must have a module `any` in scope. This module contains the
/// sum type of the caller's algorithms.
macro_rules! member {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_locks, $Type);

        impl $crate::catalogue::SumMember for $crate::reduction::ElectionFromMutex<$Type> {
            type Sum = $crate::catalogue::members::all_elections::every::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::members::all_elections::by_lock(any::Config::$Type(config))
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_elections, $Type);

        impl $crate::catalogue::SumMember for $crate::catalogue::member::AtLeader<$Type> {
            type Sum = $crate::catalogue::members::all_locks::every::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::all_locks::at_leader(config)
            }
        }
    };
    // Agreement algorithms have no common type of commands, so they do not implement `SumMember`.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::SumMember for $Type {
            type Sum = $crate::catalogue::members::$all::every::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                $crate::catalogue::members::$all::plain(any::Config::$Type(config))
            }
        }

        impl $crate::catalogue::SumMember for $crate::channel::Fifo<$Type> {
            type Sum = $crate::catalogue::members::$all::every::Any;

            fn sum_config(config: Self::Config) -> $crate::catalogue::member::SumConfig<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::$all::over_fifo(config)
            }
        }
    };
}

pub(crate) use member;
