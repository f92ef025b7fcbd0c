//! The algorithms of the catalogue: one line for each.

use super::{Parameters, Unknown, Visitor};

/// Makes of one list: the names, the way from a name to a type, and the sum of all types.
///
/// An algorithm that is marked `alone` is also compiled by itself, for every engine: where its
/// stamps can be rebased, or groups of a million make its size matter.
macro_rules! members {
    ($(#[$doc:meta])* $NAMES:ident, $call:ident, $any:ident, $composed:ident:
        $($name:literal => $Type:ident, $file:ident $(, $alone:ident)?;)+
    ) => {
        $(#[$doc])*
        pub const $NAMES: &[&str] = &[$($name),+];

        /// Compositions with each of them, whether they make sense or not.
        pub(in crate::catalogue) const COMPOSED: &[&[&str]] =
            &[$($composed!($name)),+];

        /// Calls `visitor` with the type of one that is marked `alone`; gives it back for others.
        pub(in crate::catalogue) fn visit_alone<V: Visitor>(
            name: &str,
            parameters: &Parameters,
            visitor: V,
        ) -> Result<Result<V::Output, V>, Unknown> {
            Ok(match name {
                $($($name if stringify!($alone) == "alone" => {
                    Ok(visitor.$call::<$Type>(parameters.$file()?))
                })?)+
                _ => Err(visitor),
            })
        }

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
    use super::{Parameters, Unknown, Visitor};
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
        "lamport" => Lamport, lamport, alone;
        "ricart-agrawala" => RicartAgrawala, ricart_agrawala, alone;
        "carvalho-roucairol" => CarvalhoRoucairol, carvalho_roucairol, alone;
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
    use super::{Parameters, Unknown, Visitor};
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
        "chang-roberts" => ChangRoberts, chang_roberts, alone;
        "hirschberg-sinclair" => HirschbergSinclair, hirschberg_sinclair, alone;
        "dolev-klawe-rodeh" => DolevKlaweRodeh, dolev_klawe_rodeh;
        "franklin" => Franklin, franklin;
        "itai-rodeh" => ItaiRodeh, itai_rodeh;
        "bully" => Bully, bully;
        "raft" => Raft, raft;
        "repaired-chang-roberts" => RepairedChangRoberts, repaired_chang_roberts;
    }
}

/// All locks and all compositions that are locks, as one type.
pub(super) mod locks {
    use super::elections::any_election::Any as Election;
    use crate::compose::{Coordinated, MutexOnly};
    use crate::reduction::MutexFromElection;

    pub(super) use super::mutexes::any_mutex::Any as Plain;
    pub(super) type AtLeader = MutexOnly<Coordinated<Election>>;
    pub(super) type ByElection = MutexFromElection<Election>;

    crate::catalogue::sum::sum!(any_lock, mutex: Plain, AtLeader, ByElection);
}

/// All elections and all compositions that are elections, as one type.
pub(super) mod offices {
    use crate::reduction::ElectionFromMutex;

    pub(super) use super::elections::any_election::Any as Plain;
    pub(super) type ByLock = ElectionFromMutex<super::mutexes::any_mutex::Any>;

    crate::catalogue::sum::sum!(any_office, election: Plain, ByLock);
}
