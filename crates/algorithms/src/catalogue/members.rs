//! The algorithms of the catalogue: one line for each.

use super::{Parameters, Unknown};

/// Makes of one list: the names, the way from a name to a configuration, and the sum of all types.
macro_rules! members {
    ($(#[$doc:meta])* $NAMES:ident, $call:ident, $any:ident, $composed:ident:
        $($name:literal => $Type:ident, $file:ident;)+
    ) => {
        $(#[$doc])*
        pub const $NAMES: &[&str] = &[$($name),+];

        /// Compositions with each of them, whether they make sense or not.
        pub(in crate::catalogue) const COMPOSED: &[&[&str]] =
            &[$($composed!($name)),+];

        /// The configuration of any algorithm of this list.
        pub(in crate::catalogue) fn config(
            name: &str,
            parameters: &Parameters,
        ) -> Result<$any::Config, Unknown> {
            Ok(match name {
                $($name => $any::Config::$Type(parameters.$file()?),)+
                _ => return Err(Unknown::algorithm(name)),
            })
        }

        crate::catalogue::sum::sum!($any, $call: $($Type),+);
    };
}

pub(super) mod mutexes {
    use super::{Parameters, Unknown};
    use crate::mutex::{
        CarvalhoRoucairol, Central, DijkstraRing, EdgeChasing, KMutex, Lamport, Maekawa, Majority,
        MisraRing, NaimiTrehel, NishioLiManning, Raymond, RepairedRing, RicartAgrawala,
        SuzukiKasami, TokenRing, TolerantRicartAgrawala,
    };

    macro_rules! of_mutex {
        ($name:literal) => {
            &[concat!("election-from-mutex:", $name)]
        };
    }

    members! {
        /// The mutual exclusion algorithms, by their names.
        MUTEXES, mutex, any_mutex, of_mutex:
        "central" => Central, central;
        "token-ring" => TokenRing, token_ring;
        "lamport" => Lamport, lamport;
        "ricart-agrawala" => RicartAgrawala, ricart_agrawala;
        "carvalho-roucairol" => CarvalhoRoucairol, carvalho_roucairol;
        "maekawa" => Maekawa, maekawa;
        "suzuki-kasami" => SuzukiKasami, suzuki_kasami;
        "raymond" => Raymond, raymond;
        "naimi-trehel" => NaimiTrehel, naimi_trehel;
        "k-mutex" => KMutex, k_mutex;
        "misra-ring" => MisraRing, misra_ring;
        "repaired-ring" => RepairedRing, repaired_ring;
        "majority" => Majority, majority;
        "nishio-li-manning" => NishioLiManning, nishio_li_manning;
        "tolerant-ricart-agrawala" => TolerantRicartAgrawala, tolerant_ricart_agrawala;
        "dijkstra-ring" => DijkstraRing, dijkstra_ring;
        "edge-chasing" => EdgeChasing, edge_chasing;
    }
}

pub(super) mod elections {
    use super::{Parameters, Unknown};
    use crate::election::{
        Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, ItaiRodeh, LeLann,
        Raft, RepairedChangRoberts,
    };

    macro_rules! of_election {
        ($name:literal) => {
            &[concat!("coordinated:", $name), concat!("mutex-from-election:", $name)]
        };
    }

    members! {
        /// The elections, by their names.
        ELECTIONS, election, any_election, of_election:
        "lelann" => LeLann, lelann;
        "chang-roberts" => ChangRoberts, chang_roberts;
        "hirschberg-sinclair" => HirschbergSinclair, hirschberg_sinclair;
        "dolev-klawe-rodeh" => DolevKlaweRodeh, dolev_klawe_rodeh;
        "franklin" => Franklin, franklin;
        "itai-rodeh" => ItaiRodeh, itai_rodeh;
        "bully" => Bully, bully;
        "raft" => Raft, raft;
        "repaired-chang-roberts" => RepairedChangRoberts, repaired_chang_roberts;
    }
}

/// All locks and all compositions that are locks, as one type.
pub(super) mod bare_locks {
    use super::elections::any_election::Any as Election;
    use crate::compose::{Coordinated, MutexOnly};
    use crate::reduction::MutexFromElection;

    pub(super) use super::mutexes::any_mutex::Any as Plain;
    pub(super) type AtLeader = MutexOnly<Coordinated<Election>>;
    pub(super) type ByElection = MutexFromElection<Election>;

    crate::catalogue::sum::sum!(any, mutex: Plain, AtLeader, ByElection);
}

/// All elections and all compositions that are elections, as one type.
pub(super) mod bare_elections {
    use crate::reduction::ElectionFromMutex;

    pub(super) use super::elections::any_election::Any as Plain;
    pub(super) type ByLock = ElectionFromMutex<super::mutexes::any_mutex::Any>;

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
