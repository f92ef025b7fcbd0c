//! Macro that defines the catalogue entries of the algorithms in the modules `mutex`, `election`
//! and `agreement`. Also the sum types of all locks, all elections and all agreement algorithms.

/// Expands the list of the algorithms of one service: each name with its file and type. `$call` is
/// the service. The expansion contains re-exports of the types, the macro `$each`, and the module
/// `members`. The module contains the names, the names of compositions, a function from names to
/// configurations, the sum type, and the implementations of
/// [`SumTypeMember`](crate::catalogue::SumTypeMember).
macro_rules! members {
    ($call:ident, $each:ident: $($name:literal => $file:ident::$Type:ident;)+) => {
        $(pub use $file::$Type;)+

        /// Calls `each`, a macro of the caller, once with the module names of all algorithms in
        /// this list, separated by spaces. Tests use it to cover every algorithm.
        #[macro_export]
        macro_rules! $each {
            () => {
                each! { $($file)+ }
            };
        }

        pub(crate) mod members {
            use super::{$($Type),+};
            use $crate::catalogue_error::CatalogueError;
            use $crate::parameters::{FromParameters, Parameters};

            pub(crate) const NAMES: &[&str] = &[$($name),+];

            /// For each algorithm of the list, the names of the locks or elections that are
            /// composed from it. Some of these compositions are not valid: the catalogue rejects
            /// their names.
            pub(crate) const COMPOSED: &[&[&str]] =
                &[$($crate::catalogue::catalogue_entries::composed!($call, $name)),+];

            pub(crate) fn config(
                name: &str,
                parameters: &Parameters,
            ) -> Result<sum::Config, CatalogueError> {
                Ok(match name {
                    $($name => sum::Config::$Type(FromParameters::from_parameters(parameters)?),)+
                    _ => return Err($crate::catalogue::unknown_algorithm(name)),
                })
            }

            $crate::catalogue::sum_type::sum!(sum, $call: $($Type),+);

            $($crate::catalogue::member::member!($call: $Type);)+
        }
    };
}

/// Expands to a slice with the names of the compositions that contain one algorithm.
macro_rules! composed {
    (mutex, $name:literal) => {
        &[concat!("election-from-mutex:", $name)]
    };
    (election, $name:literal) => {
        &[concat!("coordinated:", $name), concat!("mutex-from-election:", $name)]
    };
    (agreement, $name:literal) => {
        &[]
    };
}

pub(crate) use {composed, members};

/// Sum type of all locks without a reliable channel. `Plain` is a lock in the module `mutex`.
/// `AtLeader` is a lock that the leader of an election grants. `ByElection` is a lock that runs an
/// election for each entry to the critical section.
pub(crate) mod bare_locks {
    use crate::compose::{CoordinatedLock, MutexOnly};
    use crate::election::members::sum::Any as Election;
    use crate::reduction::MutexFromElection;

    pub(crate) use crate::mutex::members::sum::Any as Plain;
    pub(crate) type AtLeader = MutexOnly<CoordinatedLock<Election>>;
    pub(crate) type ByElection = MutexFromElection<Election>;

    crate::catalogue::sum_type::sum!(sum, mutex: Plain, AtLeader, ByElection);
}

/// Sum type of all elections without a reliable channel. `Plain` is an election in the module
/// `election`. `ByLock` is an election that is made from a lock.
pub(crate) mod bare_elections {
    use crate::reduction::ElectionFromMutex;

    pub(crate) use crate::election::members::sum::Any as Plain;
    pub(crate) type ByLock = ElectionFromMutex<crate::mutex::members::sum::Any>;

    crate::catalogue::sum_type::sum!(sum, election: Plain, ByLock);
}

/// Sum type of all locks. `Bare` is a lock without a reliable channel, and `OverFifo` is a lock
/// over one.
pub(crate) mod all_locks {
    use super::bare_locks::sum as bare_locks;
    use crate::channel::fifo;
    use crate::compose::coordinated;
    use crate::election::members::sum::Config as AnyElection;
    use crate::mutex::members::sum::Config as AnyMutex;

    pub(crate) type Bare = super::bare_locks::sum::Any;
    pub(crate) type OverFifo = crate::channel::FifoChannel<Bare>;

    crate::catalogue::sum_type::sum!(sum, mutex: Bare, OverFifo);

    pub(crate) fn plain_config(config: AnyMutex) -> sum::Config {
        sum::Config::Bare(bare_locks::Config::Plain(config))
    }

    pub(crate) fn config_at_leader(config: coordinated::Config<AnyElection>) -> sum::Config {
        sum::Config::Bare(bare_locks::Config::AtLeader(config))
    }

    pub(crate) fn config_over_fifo(config: fifo::Config<AnyMutex>) -> sum::Config {
        sum::Config::OverFifo(config.map(bare_locks::Config::Plain))
    }
}

/// Sum type of all elections. `Bare` is an election without a reliable channel, and `OverFifo` is
/// an election over one.
pub(crate) mod all_elections {
    use super::bare_elections::sum as bare_elections;
    use crate::channel::fifo;
    use crate::election::members::sum::Config as AnyElection;
    use crate::mutex::members::sum::Config as AnyMutex;

    pub(crate) type Bare = super::bare_elections::sum::Any;
    pub(crate) type OverFifo = crate::channel::FifoChannel<Bare>;

    crate::catalogue::sum_type::sum!(sum, election: Bare, OverFifo);

    pub(crate) fn plain_config(config: AnyElection) -> sum::Config {
        sum::Config::Bare(bare_elections::Config::Plain(config))
    }

    pub(crate) fn config_by_lock(config: AnyMutex) -> sum::Config {
        sum::Config::Bare(bare_elections::Config::ByLock(config))
    }

    pub(crate) fn config_over_fifo(config: fifo::Config<AnyElection>) -> sum::Config {
        sum::Config::OverFifo(config.map(bare_elections::Config::Plain))
    }
}

/// Sum type of all agreement algorithms. `Bare` is an algorithm without a reliable channel, and
/// `OverFifo` is an algorithm over one.
pub(crate) mod all_agreements {
    pub(crate) use crate::agreement::members::sum::Any as Bare;
    pub(crate) type OverFifo = crate::channel::FifoChannel<Bare>;

    crate::catalogue::sum_type::sum!(sum, agreement: Bare, OverFifo);
}
