//! Link from an algorithm to the sum type that contains all algorithms of its service.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{Coordinated, MutexOnly};

/// A lock or an election that belongs to the sum type of its service.
///
/// All locks together are one type, and so are all elections: the configuration selects the
/// algorithm. Code that is generic over protocols is then compiled once for this type, instead of
/// once for each algorithm.
pub trait Member: Algorithm {
    /// The sum type of all algorithms of this service.
    type All: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// Returns the configuration of [`Member::All`] that selects this algorithm and contains
    /// `config`.
    fn config_of_all(config: Self::Config) -> ConfigOfAll<Self>;
}

/// Configuration of [`Member::All`], the sum type to which the algorithm `P` belongs.
pub type ConfigOfAll<P> = <<P as Member>::All as Protocol>::Config;

impl<C> fifo::Config<C> {
    pub(crate) fn map<D>(self, inner: impl FnOnce(C) -> D) -> fifo::Config<D> {
        fifo::Config { window: self.window, resend: self.resend, inner: inner(self.inner) }
    }
}

/// The lock at the leader of the election `E`, without the election's commands and events.
pub(crate) type AtLeader<E> = MutexOnly<Coordinated<E>>;

/// Implements [`Member`] for an algorithm, over unreliable links and over a reliable channel, and
/// for its compositions: an election made of a lock, and a lock at the leader of an election. The
/// caller must have a module `any` in scope. This module contains the sum type of the caller's
/// algorithms.
macro_rules! member {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_locks, $Type);

        impl $crate::catalogue::Member for $crate::reduction::ElectionFromMutex<$Type> {
            type All = $crate::catalogue::members::all_elections::every::Any;

            fn config_of_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                $crate::catalogue::members::all_elections::by_lock(any::Config::$Type(config))
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::member!(@ all_elections, $Type);

        impl $crate::catalogue::Member for $crate::catalogue::member::AtLeader<$Type> {
            type All = $crate::catalogue::members::all_locks::every::Any;

            fn config_of_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::all_locks::at_leader(config)
            }
        }
    };
    // Agreement algorithms have no common type of commands, so they do not implement `Member`.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::Member for $Type {
            type All = $crate::catalogue::members::$all::every::Any;

            fn config_of_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                $crate::catalogue::members::$all::plain(any::Config::$Type(config))
            }
        }

        impl $crate::catalogue::Member for $crate::channel::Fifo<$Type> {
            type All = $crate::catalogue::members::$all::every::Any;

            fn config_of_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::$all::over_fifo(config)
            }
        }
    };
}

pub(crate) use member;
