//! What the catalogue knows of the algorithms that `mutex`, `election` and `agreement` list.

/// Makes of a list of algorithms: their types in this module, the names, the way from a name to a
/// configuration, and the sum of all types.
macro_rules! members {
    ($call:ident, $each:ident: $($name:literal => $file:ident::$Type:ident;)+) => {
        $(pub use $file::$Type;)+

        /// Calls the macro `each` of whoever calls this with the modules of all in this list: for
        /// tests that every algorithm has.
        #[macro_export]
        macro_rules! $each {
            () => {
                each! { $($file)+ }
            };
        }

        pub(crate) mod members {
            use super::{$($Type),+};
            use $crate::catalogue::{Configured, Parameters, Unknown};

            pub(crate) const NAMES: &[&str] = &[$($name),+];

            /// Compositions with each of them, whether they make sense or not.
            pub(crate) const COMPOSED: &[&[&str]] =
                &[$($crate::catalogue::members::composed!($call, $name)),+];

            /// The configuration of any algorithm of this list.
            pub(crate) fn config(
                name: &str,
                parameters: &Parameters,
            ) -> Result<any::Config, Unknown> {
                Ok(match name {
                    $($name => any::Config::$Type(Configured::configured(parameters)?),)+
                    _ => return Err(Unknown::algorithm(name)),
                })
            }

            $crate::catalogue::sum::sum!(any, $call: $($Type),+);
        }
    };
}

/// The names of what is made of one of them.
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

/// All locks and all compositions that are locks, as one type.
pub(super) mod bare_locks {
    use crate::compose::{Coordinated, MutexOnly};
    use crate::election::members::any::Any as Election;
    use crate::reduction::MutexFromElection;

    pub(super) use crate::mutex::members::any::Any as Plain;
    pub(super) type AtLeader = MutexOnly<Coordinated<Election>>;
    pub(super) type ByElection = MutexFromElection<Election>;

    crate::catalogue::sum::sum!(any, mutex: Plain, AtLeader, ByElection);
}

/// All elections and all compositions that are elections, as one type.
pub(super) mod bare_elections {
    use crate::reduction::ElectionFromMutex;

    pub(super) use crate::election::members::any::Any as Plain;
    pub(super) type ByLock = ElectionFromMutex<crate::mutex::members::any::Any>;

    crate::catalogue::sum::sum!(any, election: Plain, ByLock);
}

/// The same over links as they are, or over reliable channels made of unreliable ones.
pub(super) mod all_locks {
    pub(super) type Bare = super::bare_locks::any::Any;
    pub(super) type OverFifo = crate::channel::Fifo<Bare>;

    crate::catalogue::sum::sum!(every, mutex: Bare, OverFifo);
}

/// The same of elections.
pub(super) mod all_elections {
    pub(super) type Bare = super::bare_elections::any::Any;
    pub(super) type OverFifo = crate::channel::Fifo<Bare>;

    crate::catalogue::sum::sum!(every, election: Bare, OverFifo);
}

/// The same of what agrees.
pub(super) mod all_agreements {
    pub(super) use crate::agreement::members::any::Any as Bare;
    pub(super) type OverFifo = crate::channel::Fifo<Bare>;

    crate::catalogue::sum::sum!(every, agreement: Bare, OverFifo);
}
