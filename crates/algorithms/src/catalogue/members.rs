//! The algorithms of the catalogue: one line for each.

use super::{Parameters, Unknown, Visitor};

/// Makes of one list: the names, the way from a name to a type, and the sum of all types.
macro_rules! members {
    ($(#[$doc:meta])* $NAMES:ident, $call:ident, $any:ident, $composed:ident:
        $($name:literal => $Type:ident, $file:ident;)+
    ) => {
        $(#[$doc])*
        pub const $NAMES: &[&str] = &[$($name),+];

        /// Compositions with each of them, whether they make sense or not.
        pub(in crate::catalogue) const COMPOSED: &[&[&str]] =
            &[$($composed!($name)),+];

        /// Calls `visitor` with the type that a name of this list stands for.
        pub(in crate::catalogue) fn visit<V: Visitor>(
            name: &str,
            parameters: &Parameters,
            visitor: V,
        ) -> Result<V::Output, Unknown> {
            Ok(match name {
                $($name => visitor.$call::<$Type>(parameters.$file()?),)+
                _ => return Err(Unknown::algorithm(name)),
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
        CarvalhoRoucairol, Central, DijkstraRing, KMutex, Lamport, Maekawa, MisraRing, NaimiTrehel,
        Raymond, RepairedRing, RicartAgrawala, SuzukiKasami, TokenRing,
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
        "dijkstra-ring" => DijkstraRing, dijkstra_ring;
    }
}

pub(super) mod elections {
    use super::{Parameters, Unknown, Visitor};
    use crate::election::{
        Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, ItaiRodeh, LeLann, Raft,
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
    }
}
