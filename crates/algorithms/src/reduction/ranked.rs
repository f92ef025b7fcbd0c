//! Elections whose ranks can be given anew.

use alloc::sync::Arc;

use tenure_core::{Election, Rank};

use crate::catalogue::any_election::{Any, Config};
use crate::election::{
    Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann,
    RepairedChangRoberts, bully, chang_roberts, dolev_klawe_rodeh, franklin, hirschberg_sinclair,
    lelann, repaired_chang_roberts,
};

/// An election that the largest rank wins, whoever starts it.
pub trait Ranked: Election {
    /// The same configuration with other ranks, by process.
    fn ranked(config: &Self::Config, ranks: Arc<[Rank]>) -> Self::Config;
}

/// For elections whose configuration has a field of this name, and for the sum of all.
macro_rules! ranked {
    ($($Election:ident, $file:ident;)+) => {
        $(impl Ranked for $Election {
            fn ranked(config: &$file::Config, ranks: Arc<[Rank]>) -> $file::Config {
                let mut config = config.clone();
                config.ranks = ranks;
                config
            }
        })+

        impl Ranked for Any {
            fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
                match config {
                    $(Config::$Election(config) => {
                        Config::$Election($Election::ranked(config, ranks))
                    })+
                    // Ranks do not decide these.
                    Config::ItaiRodeh(_) | Config::Raft(_) => config.clone(),
                }
            }
        }
    };
}

ranked! {
    LeLann, lelann;
    ChangRoberts, chang_roberts;
    HirschbergSinclair, hirschberg_sinclair;
    DolevKlaweRodeh, dolev_klawe_rodeh;
    Franklin, franklin;
    Bully, bully;
    RepairedChangRoberts, repaired_chang_roberts;
}
