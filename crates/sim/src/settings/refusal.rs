use std::collections::BTreeSet;

use tenure_core::{Bound, Card, Crashes, ProcessId, Service, Surroundings, Timing, Weakness};
use tenure_trace::units::exact as units;

use crate::settings::Settings;
use crate::settings::fault::{Chance, Fault, Memory};

/// Settings that make no sense, or an environment weaker than the algorithm's card demands.
/// Nothing was run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A group needs somebody.
    #[error("a group of 0 processes cannot run; give at least 1")]
    Nobody,
    /// A group whose processes alone take more memory than there is.
    #[error("a group of {size} processes does not fit into memory; give a smaller one")]
    Large {
        /// How many processes.
        size: u32,
    },
    /// A duration that cannot be read.
    #[error("“{text}” is no duration; write units as 1.5, 1..3, exp:2 or lognormal:1,0.5")]
    Duration {
        /// What was given.
        text: String,
    },
    /// A moment of a crash that cannot be read.
    #[error("“{text}” is no moment; write 10, message:4, waiting, inside:2 or inside:2+0.5")]
    Moment {
        /// What was given.
        text: String,
    },
    /// Words of the command line that mean nothing.
    #[error("`{text}` {says}")]
    Words {
        /// What was given.
        text: String,
        /// What is wrong with it, and what would be right.
        says: &'static str,
    },
    /// A process that shall come back after its crashes, and has none.
    #[error(
        "--recover {0}@+… follows a crash, but no --crash names {process}; add one or give a \
         time, such as {0}@50", process.number()
    )]
    NoCrash {
        /// Who.
        process: ProcessId,
    },
    /// A latency for each link of a group that is too large for that.
    #[error("--link-latency is for groups of up to {most}, not {size}")]
    Links {
        /// How many processes.
        size: u32,
        /// The most.
        most: u32,
    },
    /// A range that ends before it begins.
    #[error("the {what} {}..{} ends before it begins; swap the two", units(*min), units(*max))]
    BackwardRange {
        /// Of what.
        what: &'static str,
        /// The lower end, in ticks.
        min: u64,
        /// The upper end, in ticks.
        max: u64,
    },
    /// A deviation that is negative or no number.
    #[error("a deviation of {sigma} makes no {what}; give 0 or more")]
    Deviation {
        /// Of what.
        what: &'static str,
        /// What was given.
        sigma: f64,
    },
    /// A probability outside 0 to 1.
    #[error("a probability of {probability} for {what} is impossible; give 0 to 1")]
    Probability {
        /// Of what.
        what: &'static str,
        /// What was given.
        probability: f64,
    },
    /// A process that the group does not have.
    #[error("{what} names {process}, but the group is P1 to P{size}")]
    Unknown {
        /// Who names it.
        what: &'static str,
        /// The stranger.
        process: ProcessId,
        /// How many there are.
        size: u32,
    },
    /// Two processes with one rank.
    #[error("rank {rank} is given twice; ranks must differ, or run beyond the assumptions")]
    RankTwice {
        /// Which.
        rank: String,
    },
    /// Too few or too many ranks.
    #[error("{listed} ranks for {size} processes; give one for each")]
    Ranks {
        /// How many processes.
        size: u32,
        /// How many ranks.
        listed: usize,
    },
    /// Too few or too many configurations.
    #[error("{listed} configurations for {size} processes; give one for each")]
    Configs {
        /// How many processes.
        size: u32,
        /// How many configurations.
        listed: usize,
    },
    /// More numbers of entries than processes.
    #[error("{listed} numbers of entries for {size} processes; give at most one for each")]
    Entries {
        /// How many processes.
        size: u32,
        /// How many numbers.
        listed: usize,
    },
    /// A matrix of latencies that is not n by n.
    #[error("a latency for each link of {size} processes needs {size} × {size}, not {entries}")]
    Matrix {
        /// How many processes.
        size: u32,
        /// How many entries it has.
        entries: usize,
    },
    /// More partitions than can be told apart.
    #[error("{partitions} partitions are more than the 64 that one run can have")]
    Partitions {
        /// How many.
        partitions: usize,
    },
    /// A step or message without bound under a model that promises one.
    #[error("{what} without bound is not synchronous; give a bound or another timing")]
    Unbounded {
        /// What has none.
        what: &'static str,
    },
    /// Clocks that may stop or run backwards.
    #[error("a drift of {drift_ppm} parts in a million could stop a clock; give below 1000000")]
    Drift {
        /// What was given.
        drift_ppm: u32,
    },
    /// The environment is weaker than the card.
    #[error("{algorithm}: {weakness}; change it or run beyond the assumptions")]
    Weaker {
        /// The algorithm.
        algorithm: String,
        /// What its card demands, and what the settings offer.
        weakness: Weakness,
    },
}

impl SettingsError {
    pub(crate) fn known(
        what: &'static str,
        process: ProcessId,
        size: u32,
    ) -> Result<(), SettingsError> {
        if process.0 < size {
            return Ok(());
        }
        Err(SettingsError::Unknown { what, process, size })
    }

    pub(crate) fn probability(what: &'static str, chance: Chance) -> Result<(), SettingsError> {
        if (0.0..=1.0).contains(&chance.probability) {
            return Ok(());
        }
        Err(SettingsError::Probability { what, probability: chance.probability })
    }
}

impl Settings {
    /// Whether these settings make sense at all.
    ///
    /// # Errors
    ///
    /// [`SettingsError`]: the first thing that is wrong, in a sentence.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.size == 0 {
            return Err(SettingsError::Nobody);
        }
        self.check_ranks()?;
        self.network.latency.check(self.size)?;
        self.time.step.check("step")?;
        if self.time.drift_ppm >= 1_000_000 {
            return Err(SettingsError::Drift { drift_ppm: self.time.drift_ppm });
        }
        SettingsError::probability("loss", self.network.loss)?;
        SettingsError::probability("duplication", self.network.duplication)?;
        if let Some(detector) = &self.detector {
            detector.delay.check("detection delay")?;
        }
        for process in &self.down {
            SettingsError::known("the list of those down", *process, self.size)?;
        }
        self.check_faults()?;
        self.workload.check(self.size)?;
        self.check_bounds()
    }

    fn check_ranks(&self) -> Result<(), SettingsError> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        if self.ranks.len() != self.size as usize {
            return Err(SettingsError::Ranks { size: self.size, listed: self.ranks.len() });
        }
        if self.beyond_assumptions {
            return Ok(());
        }
        let mut sorted = self.ranks.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(SettingsError::RankTwice { rank: pair[0].to_string() }),
            None => Ok(()),
        }
    }

    fn check_faults(&self) -> Result<(), SettingsError> {
        let mut partitions = 0;
        for fault in &self.faults {
            match fault {
                Fault::Crash { process, .. } => {
                    SettingsError::known("a crash", *process, self.size)?;
                }
                Fault::Recover { process, .. } => {
                    SettingsError::known("a recovery", *process, self.size)?;
                }
                Fault::Suspicion { observer, peer, .. } => {
                    SettingsError::known("a suspicion", *observer, self.size)?;
                    SettingsError::known("a suspicion", *peer, self.size)?;
                }
                Fault::Partition { side, from, until } => {
                    partitions += 1;
                    for process in side {
                        SettingsError::known("a partition", *process, self.size)?;
                    }
                    if let Some(until) = *until
                        && until < *from
                    {
                        let (what, min, max) = ("partition", *from, until);
                        return Err(SettingsError::BackwardRange { what, min, max });
                    }
                }
            }
        }
        if partitions > 64 {
            return Err(SettingsError::Partitions { partitions });
        }
        Ok(())
    }

    fn check_bounds(&self) -> Result<(), SettingsError> {
        if self.time.timing != Some(Timing::Synchronous) {
            return Ok(());
        }
        if self.network.latency.most().is_none() {
            return Err(SettingsError::Unbounded { what: "a latency" });
        }
        if self.time.step.most().is_none() {
            return Err(SettingsError::Unbounded { what: "a step" });
        }
        Ok(())
    }

    /// Fills in what was left to the card: the weakest timing and order of channels that the
    /// algorithm can live with, which properties count, how many may be inside and whether
    /// entries carry fences.
    #[must_use]
    pub fn resolved(mut self, card: &Card) -> Self {
        self.time.timing.get_or_insert(card.timing);
        self.network.order.get_or_insert(card.order);
        let drift = Some(self.time.drift_ppm);
        self.watch.properties.get_or_insert_with(|| card.promised(drift).collect());
        if self.off_ring(card).is_none() {
            self.watch.ring.get_or_insert(card.topology);
        }
        if card.service == Service::Mutex {
            self.watch.most_inside = self.watch.most_inside.max(card.most_inside());
            self.watch.fenced &= card.fenced();
        }
        self
    }

    /// Whether the environment is at least as strong as the card demands; always, when
    /// [`Settings::beyond_assumptions`] is set.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Weaker`] says in a sentence what the algorithm needs and does not get.
    pub fn check_against(&self, card: &Card) -> Result<(), SettingsError> {
        self.clone().resolved(card).check()?;
        if self.beyond_assumptions {
            return Ok(());
        }
        match card.weaknesses(&self.surroundings(card)).next() {
            Some(weakness) => Err(SettingsError::Weaker { algorithm: card.name.clone(), weakness }),
            None => Ok(()),
        }
    }

    /// What may happen in these settings.
    pub(crate) fn surroundings(&self, card: &Card) -> Surroundings {
        let mut around = Surroundings {
            timing: self.time.timing.unwrap_or(card.timing),
            order: self.network.order.unwrap_or(card.order),
            losses: Bound::any_if(self.network.loss.possible()),
            duplication: self.network.duplication.possible(),
            down: !self.down.is_empty(),
            ..card.surroundings()
        };
        let mut failing: BTreeSet<ProcessId> = self.down.iter().copied().collect();
        for fault in &self.faults {
            let back = match fault {
                Fault::Crash { recovery, process, .. } => {
                    failing.insert(*process);
                    recovery.map(|recovery| recovery.memory)
                }
                Fault::Recover { memory, .. } => Some(*memory),
                Fault::Partition { .. } => {
                    around.partition = true;
                    continue;
                }
                Fault::Suspicion { .. } => {
                    around.suspicion = true;
                    continue;
                }
            };
            around.forgets |= back == Some(Memory::Lost);
            let crashes = if back.is_some() { Crashes::Recovery } else { Crashes::Stop };
            around.crashes = around.crashes.max(crashes);
        }
        around.crashed = Bound::AtMost(u32::try_from(failing.len()).unwrap_or(u32::MAX));
        around
    }
}
