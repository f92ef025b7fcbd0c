//! What a configuration may depend on, and what it is then.

use core::num::NonZeroU32;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::{Kind, Quorums};
use tenure_core::tree::Shape;
use tenure_core::{Delay, ProcessId, Rank, TICKS_PER_UNIT};

use super::Unknown;
use crate::election::{
    bully, chang_roberts, dolev_klawe_rodeh, franklin, hirschberg_sinclair, lelann, raft,
    repaired_chang_roberts,
};
use crate::mutex::{
    carvalho_roucairol, central, dijkstra_ring, edge_chasing, k_mutex, lamport, maekawa, majority,
    misra_ring, raymond, repaired_ring, ricart_agrawala, token_ring,
};
use crate::{Switch, UnknownVariant, Variants};

/// What a configuration may depend on.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// How many processes there are.
    pub size: u32,
    /// By process: what decides elections.
    pub ranks: Arc<[Rank]>,
    /// Who coordinates, where that is fixed.
    pub coordinator: ProcessId,
    /// How quorums are built, where they are needed.
    pub quorums: Kind,
    /// How many a k-mutex lets in at once.
    pub most_inside: NonZeroU32,
    /// How the tree is shaped, where one is needed.
    pub tree: Shape,
    /// The variants that are switched on, by name.
    pub variants: Vec<String>,
    /// The longest that a message may take, in ticks: what timeouts are made of.
    pub delay: u64,
}

impl Parameters {
    /// Plain ids, the first process as coordinator, quorums of a grid (which every number of
    /// processes has), two at once in a k-mutex, a star as the tree, no variants, messages of
    /// one unit.
    pub fn plain(size: u32) -> Self {
        Parameters {
            size,
            ranks: (1..=size).map(Rank::of_id).collect(),
            coordinator: ProcessId(0),
            quorums: Kind::Grid,
            most_inside: NonZeroU32::MIN.saturating_add(1),
            tree: Shape::Star,
            variants: Vec::new(),
            delay: TICKS_PER_UNIT,
        }
    }

    pub(super) fn variants<S: Switch>(&self) -> Result<Variants<S>, UnknownVariant> {
        Variants::named(self.variants.iter().map(String::as_str))
    }

    /// For algorithms that declare none.
    fn no_variants(&self) -> Result<(), UnknownVariant> {
        match self.variants.first() {
            Some(name) => Err(UnknownVariant { name: name.clone(), known: Vec::new() }),
            None => Ok(()),
        }
    }

    pub(super) fn central(&self) -> Result<central::Config, UnknownVariant> {
        Ok(central::Config { coordinator: self.coordinator, variants: self.variants()? })
    }

    pub(super) fn token_ring(&self) -> Result<token_ring::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(token_ring::Config { pass_after: self.delay })
    }

    pub(super) fn lamport(&self) -> Result<lamport::Config, UnknownVariant> {
        Ok(lamport::Config { variants: self.variants()? })
    }

    pub(super) fn ricart_agrawala(&self) -> Result<ricart_agrawala::Config, UnknownVariant> {
        Ok(ricart_agrawala::Config { variants: self.variants()? })
    }

    pub(super) fn carvalho_roucairol(&self) -> Result<carvalho_roucairol::Config, UnknownVariant> {
        Ok(carvalho_roucairol::Config { variants: self.variants()? })
    }

    pub(super) fn maekawa(&self) -> Result<maekawa::Config, Unknown> {
        let quorums = Quorums::of(self.quorums, self.size)?;
        Ok(maekawa::Config { quorums: Arc::new(quorums), variants: self.variants()? })
    }

    /// Majorities, unless something else than the usual grid is asked for.
    pub(super) fn majority(&self) -> Result<majority::Config, Unknown> {
        let kind = if self.quorums == Kind::Grid { Kind::Majority } else { self.quorums };
        let variants = self.variants()?;
        Ok(majority::Config { variants, ..majority::Config::of(kind, self.size)? })
    }

    pub(super) fn k_mutex(&self) -> Result<k_mutex::Config, UnknownVariant> {
        Ok(k_mutex::Config { most_inside: self.most_inside, variants: self.variants()? })
    }

    pub(super) fn dijkstra_ring(&self) -> Result<dijkstra_ring::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(dijkstra_ring::Config::of(self.delay))
    }

    pub(super) fn edge_chasing(&self) -> Result<edge_chasing::Config, UnknownVariant> {
        Ok(edge_chasing::Config { variants: self.variants()? })
    }

    pub(super) fn repaired_ring(&self) -> Result<repaired_ring::Config, UnknownVariant> {
        self.token_ring()
    }

    pub(super) fn tolerant_ricart_agrawala(&self) -> Result<(), UnknownVariant> {
        self.no_variants()
    }

    pub(super) fn nishio_li_manning(&self) -> Result<(), UnknownVariant> {
        self.no_variants()
    }

    pub(super) fn misra_ring(&self) -> Result<misra_ring::Config, UnknownVariant> {
        Ok(misra_ring::Config { pass_after: self.delay, variants: self.variants()? })
    }

    pub(super) fn lelann(&self) -> Result<lelann::Config, UnknownVariant> {
        Ok(lelann::Config { ranks: self.ranks.clone(), variants: self.variants()? })
    }

    pub(super) fn suzuki_kasami(&self) -> Result<(), UnknownVariant> {
        self.no_variants()
    }

    pub(super) fn raymond(&self) -> Result<raymond::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(raymond::Config::of(self.tree, self.size))
    }

    pub(super) fn naimi_trehel(&self) -> Result<(), UnknownVariant> {
        self.no_variants()
    }

    pub(super) fn chang_roberts(&self) -> Result<chang_roberts::Config, UnknownVariant> {
        Ok(chang_roberts::Config { ranks: self.ranks.clone(), variants: self.variants()? })
    }

    pub(super) fn hirschberg_sinclair(
        &self,
    ) -> Result<hirschberg_sinclair::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(hirschberg_sinclair::Config { ranks: self.ranks.clone() })
    }

    pub(super) fn dolev_klawe_rodeh(&self) -> Result<dolev_klawe_rodeh::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(dolev_klawe_rodeh::Config { ranks: self.ranks.clone() })
    }

    pub(super) fn franklin(&self) -> Result<franklin::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(franklin::Config { ranks: self.ranks.clone() })
    }

    /// Nothing: its processes are all alike.
    pub(super) fn itai_rodeh(&self) -> Result<(), UnknownVariant> {
        self.no_variants()
    }

    pub(super) fn bully(&self) -> Result<bully::Config, UnknownVariant> {
        let plain = bully::Config::plain(self.size, self.delay);
        Ok(bully::Config { ranks: self.ranks.clone(), variants: self.variants()?, ..plain })
    }

    pub(super) fn raft(&self) -> Result<raft::Config, UnknownVariant> {
        let plain = raft::Config::plain(self.size, self.delay);
        Ok(raft::Config { variants: self.variants()?, ..plain })
    }

    pub(super) fn repaired_chang_roberts(
        &self,
    ) -> Result<repaired_chang_roberts::Config, UnknownVariant> {
        self.no_variants()?;
        Ok(repaired_chang_roberts::Config { ranks: self.ranks.clone() })
    }

    /// For the election of an office: real networks part and heal, so a bully greets.
    pub(super) fn of_office(&self, election: &str) -> Self {
        let greet = (election == "bully").then(|| bully::Switch::Greet.declaration().name.into());
        Parameters { variants: greet.into_iter().collect(), ..self.clone() }
    }

    /// The same where a message may have to be repeated three times before it arrives.
    pub(super) fn with_repeats(&self) -> Self {
        Parameters { delay: self.delay + 3 * self.resend().max, ..self.clone() }
    }

    /// Longer than a message and its acknowledgement take.
    pub(super) fn resend(&self) -> Delay {
        Delay::ticks(3 * self.delay)
    }
}
