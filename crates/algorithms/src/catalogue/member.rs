//! What is one of many.

use tenure_core::{Algorithm, Protocol};

use crate::channel::fifo;
use crate::compose::{Coordinated, MutexOnly};

/// A lock or an election, among all that offer its service.
///
/// All locks together are one type, and so are all elections: a process does what the one algorithm
/// does that its configuration names. What is generic over protocols and is used with many of them
/// is compiled for one type then, instead of for each.
pub trait Member: Algorithm {
    /// All that offer this service.
    type All: Algorithm + Protocol<Command = Self::Command, Event = Self::Event>;

    /// The configuration of all that names this one and configures it so.
    fn among_all(config: Self::Config) -> ConfigOfAll<Self>;
}

/// How all that offer the service of this one are configured.
pub type ConfigOfAll<P> = <<P as Member>::All as Protocol>::Config;

impl<C> fifo::Config<C> {
    /// The same channel around another protocol.
    pub(crate) fn map<D>(self, inner: impl FnOnce(C) -> D) -> fifo::Config<D> {
        fifo::Config { window: self.window, resend: self.resend, inner: inner(self.inner) }
    }
}

/// A lock at the leader of an election.
pub(crate) type AtLeader<E> = MutexOnly<Coordinated<E>>;

/// That one of a list is among all, over links as they are and over a reliable channel; and so is
/// an election made of a lock, and a lock at the leader of an election. For where `any` is the sum
/// of the list.
macro_rules! among_all {
    (mutex: $Type:ident) => {
        $crate::catalogue::member::among_all!(@ all_locks, $Type);

        impl $crate::catalogue::Member for $crate::reduction::ElectionFromMutex<$Type> {
            type All = $crate::catalogue::members::all_elections::every::Any;

            fn among_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                $crate::catalogue::members::all_elections::by_lock(any::Config::$Type(config))
            }
        }
    };
    (election: $Type:ident) => {
        $crate::catalogue::member::among_all!(@ all_elections, $Type);

        impl $crate::catalogue::Member for $crate::catalogue::member::AtLeader<$Type> {
            type All = $crate::catalogue::members::all_locks::every::Any;

            fn among_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::all_locks::at_leader(config)
            }
        }
    };
    // All that agree are asked in one way, whatever each of them is asked by itself.
    (agreement: $Type:ident) => {};
    (@ $all:ident, $Type:ident) => {
        impl $crate::catalogue::Member for $Type {
            type All = $crate::catalogue::members::$all::every::Any;

            fn among_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                $crate::catalogue::members::$all::plain(any::Config::$Type(config))
            }
        }

        impl $crate::catalogue::Member for $crate::channel::Fifo<$Type> {
            type All = $crate::catalogue::members::$all::every::Any;

            fn among_all(config: Self::Config) -> $crate::catalogue::member::ConfigOfAll<Self> {
                let config = config.map(any::Config::$Type);
                $crate::catalogue::members::$all::over_fifo(config)
            }
        }
    };
}

pub(crate) use among_all;
