//! Errors of settings, and the checks that report them.

use std::collections::BTreeSet;

use tenure_core::monitors::LinksOnly;
use tenure_core::{
    Card, CrashModel, FaultCountLimit, ProcessId, Property, Service, SystemModel, Timing,
    UnmetAssumption,
};
use tenure_trace::units::format_ticks_as_time_units as units;

use crate::settings::Settings;
use crate::settings::distribution::{Distribution, MAX_TIME};
use crate::settings::fault::{Chance, Fault, RecoveredState};

/// Error of invalid settings, or of an environment that is weaker than the algorithm's [`Card`]
/// demands. Nothing was run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The group has no processes.
    #[error("invalid group size 0: expected at least 1 process")]
    EmptyGroup,
    /// A group whose processes do not fit into memory.
    #[error("{size} processes do not fit into memory: use a smaller group")]
    TooLarge {
        /// Number of processes in the group.
        size: u32,
    },
    /// An invalid duration.
    #[error("expected units such as 1.5, 1..3, exp:2 or lognormal:1,0.5")]
    InvalidDuration {
        /// The invalid value, as the user wrote it.
        text: String,
    },
    /// A duration that is longer than a run can be.
    #[error("expected at most {} units, the maximum time of a run", units(MAX_TIME))]
    TooLongDuration {
        /// The invalid value, as the user wrote it.
        text: String,
    },
    /// An invalid time or event of a crash.
    #[error("expected 10, message:4, sending:2, waiting, inside:2 or inside:2+0.5")]
    InvalidCrashTrigger {
        /// The invalid value, as the user wrote it.
        text: String,
    },
    /// An invalid value of the command line.
    #[error("{message}")]
    InvalidText {
        /// The invalid value, as the user wrote it.
        text: String,
        /// Description of the problem and of the expected form.
        message: &'static str,
    },
    /// The settings let a process recover some time after each of its crashes, but the process
    /// never crashes.
    #[error(
        "--recover {0}@+… follows a crash, but no --crash names {process}; add one or give a \
         time, such as {0}@50", process.display_number()
    )]
    NoCrash {
        /// Process that recovers.
        process: ProcessId,
    },
    /// The settings contain a latency for each link, but the group is too large for such settings.
    #[error("--link-latency is for groups of up to {most}, not {size}")]
    TooLargeForLinkLatencies {
        /// Number of processes in the group.
        size: u32,
        /// Maximum number of processes for which this setting is possible.
        most: u32,
    },
    /// A range whose end precedes its start.
    #[error("the {setting} {}..{} ends before it begins; swap the two", units(*min), units(*max))]
    BackwardRange {
        /// Name of the setting that has the range.
        setting: &'static str,
        /// Start of the range, in ticks.
        min: u64,
        /// End of the range, in ticks.
        max: u64,
    },
    /// A standard deviation that is negative or not a number.
    #[error("invalid deviation {sigma} for the {setting}: expected 0 or more")]
    InvalidDeviation {
        /// Name of the setting with the invalid deviation.
        setting: &'static str,
        /// Invalid value that the setting has.
        sigma: f64,
    },
    /// A probability outside 0 to 1.
    #[error("invalid probability {probability} for {setting}: expected 0 to 1")]
    InvalidProbability {
        /// Name of the setting that has the probability.
        setting: &'static str,
        /// Invalid value that the setting has.
        probability: f64,
    },
    /// A setting names a process that the group does not contain.
    #[error("{setting} names {process}, but the group is P1 to P{size}")]
    UnknownProcess {
        /// Name of the setting that names the unknown process.
        setting: &'static str,
        /// Process that the setting names, although the group does not contain it.
        process: ProcessId,
        /// Size of the group.
        size: u32,
    },
    /// The settings give two processes the same rank.
    #[error("rank {rank} is given twice; ranks must differ, or run beyond the assumptions")]
    DuplicateRank {
        /// Rank that the settings give to two processes.
        rank: String,
    },
    /// The number of ranks differs from the number of processes.
    #[error("{listed} ranks for {size} processes; give one for each")]
    WrongRankCount {
        /// Number of processes in the group.
        size: u32,
        /// Number of ranks that the settings give.
        listed: usize,
    },
    /// The number of configurations differs from the number of processes.
    #[error("{listed} configurations for {size} processes; give one for each")]
    WrongConfigCount {
        /// Number of processes in the group.
        size: u32,
        /// Number of configurations that the caller gives.
        listed: usize,
    },
    /// The settings contain a list with a number of entries for each process. The list has more
    /// elements than the group has processes.
    #[error("{listed} numbers of entries for {size} processes; give at most one for each")]
    TooManyEntryCounts {
        /// Number of processes in the group.
        size: u32,
        /// Number of elements in the list of entry counts.
        listed: usize,
    },
    /// The settings contain an underlay, but the group is too large for the routes of an underlay.
    #[error("a network below the links is for groups of up to {most}, not {size}")]
    TooLargeForUnderlay {
        /// Number of processes in the group.
        size: u32,
        /// Maximum number of processes for which this setting is possible.
        most: u32,
    },
    /// A network that is not connected: at least two of its processes have no path between them.
    #[error("the network is not connected: no path joins two of its processes")]
    DisconnectedNetwork,
    /// A network whose number of vertices is not the number of processes.
    #[error("the network has {vertices} vertices for {size} processes: expected one for each")]
    WrongNetworkSize {
        /// Number of vertices of the network.
        vertices: u32,
        /// Number of processes in the group.
        size: u32,
    },
    /// A graph of conflicts with fewer vertices than processes.
    #[error("the graph of conflicts has {vertices} vertices for {size} processes: add vertices")]
    WrongConflictGraphSize {
        /// Number of vertices of the graph.
        vertices: u32,
        /// Number of processes in the group.
        size: u32,
    },
    /// A graph of allowed links with fewer vertices than processes.
    #[error("the graph of links has {vertices} vertices for {size} processes: add vertices")]
    WrongLinkGraphSize {
        /// Number of vertices of the graph.
        vertices: u32,
        /// Number of processes in the group.
        size: u32,
    },
    /// A latency matrix that is not n × n.
    #[error("a latency for each link of {size} processes needs {size} × {size}, not {entries}")]
    WrongMatrixSize {
        /// Number of processes in the group.
        size: u32,
        /// Number of elements in the latency matrix.
        entries: usize,
    },
    /// The settings contain more partitions than one run can have.
    #[error("{partitions} partitions are more than the 64 that one run can have")]
    TooManyPartitions {
        /// Number of partitions in the settings.
        partitions: usize,
    },
    /// An unbounded duration under a timing model with bounds.
    #[error("{setting} without bound is not synchronous; give a bound or another timing")]
    UnboundedDuration {
        /// Name of the setting that has the unbounded duration.
        setting: &'static str,
    },
    /// A setting that is invalid in synchronous rounds, because it would let processes end a round
    /// at different times.
    #[error("{setting} is not possible in synchronous rounds; give another timing")]
    IncompatibleWithRounds {
        /// Name of the setting that is impossible in synchronous rounds.
        setting: &'static str,
    },
    /// Clock drift that is so large that a clock could stop or run backwards.
    #[error("a drift of {drift_ppm} parts in a million could stop a clock; give below 1000000")]
    InvalidDrift {
        /// Clock drift that the settings give, in parts per million.
        drift_ppm: u32,
    },
    /// Partitions that never end, and that divide the group so that no part has a majority.
    #[error(
        "partitions that never end leave no majority of {size} processes: let one end, as in \
         1,2@10..50, or run beyond the assumptions"
    )]
    NoMajority {
        /// Number of processes in the group.
        size: u32,
    },
    /// So many processes stay down that no majority is left, and the algorithm needs one.
    #[error(
        "{down} of {size} processes stay down, and without a majority nothing is decided: let one \
         recover, as in --recover 1@50, or run beyond the assumptions"
    )]
    MajorityDown {
        /// Number of processes that stay down, or that a partition cuts off for ever.
        down: usize,
        /// Number of processes in the group.
        size: u32,
    },
    /// An environment that is weaker than the algorithm's [`Card`] demands.
    #[error("{algorithm}: {weakness}; change it or run beyond the assumptions")]
    UnmetAssumption {
        /// Name of the algorithm.
        algorithm: String,
        /// Assumption of the algorithm that the settings do not meet.
        weakness: UnmetAssumption,
    },
}

impl SettingsError {
    pub(crate) fn check_process(
        setting: &'static str,
        process: ProcessId,
        size: u32,
    ) -> Result<(), SettingsError> {
        if process.0 < size {
            return Ok(());
        }
        Err(SettingsError::UnknownProcess { setting, process, size })
    }

    pub(crate) fn check_probability(
        setting: &'static str,
        chance: Chance,
    ) -> Result<(), SettingsError> {
        if (0.0..=1.0).contains(&chance.probability) {
            return Ok(());
        }
        Err(SettingsError::InvalidProbability { setting, probability: chance.probability })
    }
}

impl Settings {
    /// Checks that the settings are valid, independent of the algorithm.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] that describes the first problem.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.size == 0 {
            return Err(SettingsError::EmptyGroup);
        }
        self.check_ranks()?;
        self.network.latency.check(self.size)?;
        let vertices = self.network.graph.as_ref().map(|network| network.graph().vertex_count());
        if let Some(vertices) = vertices.filter(|vertices| *vertices != self.size) {
            return Err(SettingsError::WrongNetworkSize { vertices, size: self.size });
        }
        self.time.step.check("step")?;
        if self.time.drift_ppm >= 1_000_000 {
            return Err(SettingsError::InvalidDrift { drift_ppm: self.time.drift_ppm });
        }
        SettingsError::check_probability("loss", self.network.loss)?;
        SettingsError::check_probability("duplication", self.network.duplication)?;
        if let Some(detector) = &self.detector {
            detector.delay.check("detection delay")?;
        }
        for process in &self.down {
            SettingsError::check_process("the list of crashed processes", *process, self.size)?;
        }
        self.check_faults()?;
        self.check_judging_graphs()?;
        self.workload.check(self.size)?;
        self.check_bounds()
    }

    fn check_ranks(&self) -> Result<(), SettingsError> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        if self.ranks.len() != self.size as usize {
            return Err(SettingsError::WrongRankCount {
                size: self.size,
                listed: self.ranks.len(),
            });
        }
        if self.beyond_assumptions {
            return Ok(());
        }
        let mut sorted = self.ranks.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(SettingsError::DuplicateRank { rank: pair[0].to_string() }),
            None => Ok(()),
        }
    }

    /// Checks that the graphs with which monitors judge the run contain all processes.
    fn check_judging_graphs(&self) -> Result<(), SettingsError> {
        let size = self.size;
        let lacks_processes = |vertices: &u32| *vertices < size;
        let conflicts = self.monitoring.conflicts.as_ref();
        if let Some(vertices) = conflicts.map(|it| it.vertex_count()).filter(lacks_processes) {
            return Err(SettingsError::WrongConflictGraphSize { vertices, size });
        }
        let links = self.monitoring.allowed_links.as_ref().and_then(LinksOnly::graph);
        match links.map(|graph| graph.vertex_count()).filter(lacks_processes) {
            Some(vertices) => Err(SettingsError::WrongLinkGraphSize { vertices, size }),
            None => Ok(()),
        }
    }

    fn check_faults(&self) -> Result<(), SettingsError> {
        let mut partitions = 0;
        for fault in &self.faults {
            match fault {
                Fault::Crash { process, .. } => {
                    SettingsError::check_process("a crash", *process, self.size)?;
                }
                Fault::Recover { process, .. } => {
                    SettingsError::check_process("a recovery", *process, self.size)?;
                }
                Fault::Suspicion { observer, peer, .. } => {
                    SettingsError::check_process("a suspicion", *observer, self.size)?;
                    SettingsError::check_process("a suspicion", *peer, self.size)?;
                }
                Fault::Partition { side, from, until } => {
                    partitions += 1;
                    for process in side {
                        SettingsError::check_process("a partition", *process, self.size)?;
                    }
                    if let Some(until) = *until
                        && until < *from
                    {
                        let (setting, min, max) = ("partition", *from, until);
                        return Err(SettingsError::BackwardRange { setting, min, max });
                    }
                }
            }
        }
        if partitions > 64 {
            return Err(SettingsError::TooManyPartitions { partitions });
        }
        Ok(())
    }

    fn check_bounds(&self) -> Result<(), SettingsError> {
        if self.timing() < Timing::Synchronous {
            return Ok(());
        }
        if self.network.latency.max_ticks().is_none() {
            return Err(SettingsError::UnboundedDuration { setting: "a latency" });
        }
        if self.time.step.max_ticks().is_none() {
            return Err(SettingsError::UnboundedDuration { setting: "a step" });
        }
        if self.timing() == Timing::Rounds && self.time.drift_ppm > 0 {
            return Err(SettingsError::IncompatibleWithRounds { setting: "a drift" });
        }
        if self.timing() == Timing::Rounds && self.time.step != Distribution::ZERO {
            return Err(SettingsError::IncompatibleWithRounds { setting: "a duration of steps" });
        }
        Ok(())
    }

    /// Returns these settings, with missing values taken from the algorithm's [`Card`]. A missing
    /// timing or channel order becomes the weakest that the algorithm allows. Missing properties
    /// become the promises of the card under the clock drift of the settings. Missing links become
    /// those on the card if the run can check links.
    ///
    /// For a lock, missing conflicts become those on the card, and
    /// [`MonitoringSettings::max_inside`](crate::MonitoringSettings::max_inside) becomes at least
    /// the number on the card. Fences are then checked only if the card has fences, or if the
    /// settings list [`Property::Fencing`].
    #[must_use]
    pub fn with_card_defaults(mut self, card: &Card) -> Self {
        self.time.timing.get_or_insert(card.timing);
        self.network.order.get_or_insert(card.order);
        let drift = Some(self.time.drift_ppm);
        self.monitoring
            .properties
            .get_or_insert_with(|| card.promises_under_drift(drift).collect());
        if self.link_check_skip_reason(card).is_none() {
            let size = self.size;
            let links = &mut self.monitoring.allowed_links;
            links.get_or_insert_with(|| LinksOnly::from_card(card, size));
        }
        if card.service == Service::Mutex {
            self.monitoring.max_inside = self.monitoring.max_inside.max(card.max_inside());
            let conflicts = &mut self.monitoring.conflicts;
            *conflicts = conflicts.take().or_else(|| card.conflict_graph().cloned());
            self.monitoring.fenced &= card.is_fenced() || self.lists_property(Property::Fencing);
        }
        self
    }

    /// Checks that the settings are valid, and that the environment is at least as strong as the
    /// algorithm's [`Card`] demands. [`Settings::beyond_assumptions`] disables the check of the
    /// environment.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] if the settings are invalid. [`SettingsError::NoMajority`] or
    /// [`SettingsError::MajorityDown`] if no majority of the processes remains.
    /// [`SettingsError::UnmetAssumption`] with the first assumption that is not met.
    pub fn check_against(&self, card: &Card) -> Result<(), SettingsError> {
        self.clone().with_card_defaults(card).check()?;
        if self.beyond_assumptions {
            return Ok(());
        }
        if self.processes_cut_off_at(u64::MAX).len() == self.size as usize {
            return Err(SettingsError::NoMajority { size: self.size });
        }
        let down = self.processes_that_stay_down().len();
        if card.faults.majority && down * 2 >= self.size as usize {
            return Err(SettingsError::MajorityDown { down, size: self.size });
        }
        match card.unmet_assumptions(&self.system_model(card)).next() {
            Some(weakness) => {
                Err(SettingsError::UnmetAssumption { algorithm: card.name.clone(), weakness })
            }
            None => Ok(()),
        }
    }

    /// Returns the system model that these settings describe. If the settings contain no timing,
    /// the model uses the timing on the algorithm's [`Card`]. The same applies to the channel
    /// order.
    pub(crate) fn system_model(&self, card: &Card) -> SystemModel {
        let mut around = SystemModel {
            timing: self.time.timing.unwrap_or(card.timing),
            order: self.network.order.unwrap_or(card.order),
            losses: FaultCountLimit::any_or_none(self.network.loss.can_occur()),
            duplication: self.network.duplication.can_occur(),
            down: !self.down.is_empty(),
            ..card.fault_free_system_model()
        };
        let cut_off = self.processes_cut_off_at(u64::MAX);
        around.cut_off = !cut_off.is_empty();
        let mut failing: BTreeSet<ProcessId> = self.down.iter().copied().chain(cut_off).collect();
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
                    around.false_suspicion = true;
                    continue;
                }
            };
            around.loses_saved_state |= back == Some(RecoveredState::Lost);
            let crashes = if back.is_some() { CrashModel::Recovery } else { CrashModel::Stop };
            around.crashes = around.crashes.max(crashes);
        }
        around.max_unavailable =
            FaultCountLimit::AtMost(u32::try_from(failing.len()).unwrap_or(u32::MAX));
        around
    }
}
