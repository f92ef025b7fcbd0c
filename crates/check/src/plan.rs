//! The part of a check that does not depend on the type of the protocol. Its code is compiled once,
//! and not for each protocol.

use std::sync::Arc;

use tenure_core::service::agreement;
use tenure_core::{Layer, ProcessId, Property, RequiredInput, Service};

use crate::config::CheckConfig;
use crate::custom::{self, CustomProperties};
use crate::error::CheckError;
use crate::limits::StopSignal;
use crate::measure::MeasureConfig;
use crate::model::causality::CausalityTracking;
use crate::model::hooks::ProvidedHooks;
use crate::model::protocol_model::MonitorNeeds;
use crate::users::entries::{RequestLimit, RequestLimits};
use crate::users::user::UserWorkload;
use crate::world::{FaultCounts, MAX_PROCESSES, StateLayout};

/// Configuration of a check, its properties, and what its monitors need.
pub(crate) struct CheckPlan {
    pub(crate) config: CheckConfig,
    /// Commands of a given schedule to an agreement service, each with its process. `None` if the
    /// check searches all schedules.
    pub(crate) agreement_schedule: Option<Vec<(ProcessId, agreement::Command)>>,
    pub(crate) needs: MonitorNeeds,
    pub(crate) selected: Vec<SelectedProperty>,
    /// Index of the monitor that measures bypass, and the number of entries at which the monitor
    /// stops counting. `None` if bypass is not measured.
    pub(crate) bypass_cap: Option<(usize, u32)>,
    /// Index of the monitor that collects facts for the properties written as expressions. `None`
    /// if no such property needs facts.
    pub(crate) fact_collector: Option<usize>,
    /// Measure whose minimum and maximum the check determines. `None` for a check of properties.
    pub(crate) measure: Option<MeasureConfig>,
    pub(crate) stop: StopSignal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedProperty {
    pub(crate) property: Property,
    pub(crate) kind: PropertyCheckKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropertyCheckKind {
    /// The monitor at this index judges every step.
    Always(usize),
    /// The monitor at this index judges every step. It also determines the states in which no run
    /// may end.
    AlwaysAndAtEnd(usize),
    /// Checks that every process that waits to be served is eventually served, and that every
    /// process that waits for a result is eventually informed.
    Progress,
    /// Checks deadlock freedom: if processes wait for a lock, some process eventually enters.
    DeadlockFreedom,
    /// Checks that every process that waits for a lock eventually enters.
    StarvationFreedom,
    /// Evaluates the expression at this index of [`CheckConfig::custom_properties`] in every state.
    CustomSafety(usize),
    /// Checks that every fair run satisfies the expression at this index of
    /// [`CheckConfig::custom_properties`].
    CustomLiveness(usize),
}

impl PropertyCheckKind {
    /// Returns the bit of this property in the set of properties that a step violates. Returns 0
    /// for a property that is judged only after the search, because no single step violates it.
    pub(crate) fn step_violation_mask(self, layout: StateLayout) -> u32 {
        match self {
            PropertyCheckKind::Always(index) | PropertyCheckKind::AlwaysAndAtEnd(index) => {
                1 << index
            }
            PropertyCheckKind::CustomSafety(index) => 1 << (layout.monitor_count + index),
            PropertyCheckKind::Progress
            | PropertyCheckKind::DeadlockFreedom
            | PropertyCheckKind::StarvationFreedom
            | PropertyCheckKind::CustomLiveness(_) => 0,
        }
    }
}

/// Parts of a search that follow from a valid plan.
pub(crate) struct ValidPlan {
    pub(crate) workload: UserWorkload,
    /// Maximum number of each fault per run.
    pub(crate) budget: FaultCounts,
    pub(crate) layout: StateLayout,
    /// Properties written as expressions. `None` if there are none, and in a measurement.
    pub(crate) custom_properties: Option<Arc<CustomProperties>>,
    /// Optional functions of the protocol that the search uses.
    pub(crate) hooks: ProvidedHooks,
}

impl CheckPlan {
    pub(crate) fn new(config: CheckConfig) -> Self {
        CheckPlan {
            config,
            agreement_schedule: None,
            needs: MonitorNeeds::default(),
            selected: Vec::new(),
            bypass_cap: None,
            fact_collector: None,
            measure: None,
            stop: StopSignal::default(),
        }
    }

    pub(crate) fn select_property(&mut self, property: Property, kind: PropertyCheckKind) {
        self.selected.push(SelectedProperty { property, kind });
    }

    /// Adds to `needs` the facts that a monitor of `property` needs. `service` is the service of
    /// the protocol.
    pub(crate) fn add_needs_of(&mut self, property: Property, service: Service) {
        let needs = &mut self.needs;
        let counts_only = matches!(property, Property::MutualExclusion | Property::KExclusion(_));
        needs.depends_on_names |= !counts_only;
        if property.required_input() == RequiredInput::Clocks {
            needs.causality = CausalityTracking::Requests;
        }
        if property.required_input() == RequiredInput::Messages {
            needs.layer = service.counted_layer().or(Some(Layer::Agreement));
            needs.observes_all_messages |= property != Property::Topology;
        }
    }

    /// Validates the check of a protocol, and returns the parts of the search that follow from it.
    /// `hooks` are the optional functions that the protocol provides, and `monitors` is the number
    /// of monitors. Returns an error if the configuration is invalid. Panics if it is inconsistent:
    /// see [`CheckConfig::assert_consistent`].
    pub(crate) fn validate(
        &self,
        hooks: ProvidedHooks,
        monitors: usize,
    ) -> Result<ValidPlan, CheckError> {
        let workload = self.workload(hooks)?;
        self.config.check_assumptions()?;
        self.config.assert_consistent();
        let (budget, layout) = (self.config.fault_budget()?, self.layout(monitors)?);
        let custom = if self.measure.is_some() { &[][..] } else { &self.config.custom_properties };
        let custom = CustomProperties::new(custom, layout, self.fact_collector)?.map(Arc::new);
        let has_shifts = hooks.has_shifts && self.shifts_timestamps(hooks);
        let hooks = ProvidedHooks { has_shifts, ..hooks };
        Ok(ValidPlan { workload, budget, layout, custom_properties: custom, hooks })
    }

    /// Returns the layout of the global states. Returns an error if there are too many processes or
    /// monitors, or if too many monitors judge ends of runs.
    fn layout(&self, monitors: usize) -> Result<StateLayout, CheckError> {
        const MARKS: usize = u32::BITS as usize;
        let CheckConfig { size, service, model, .. } = &self.config;
        let custom = if self.measure.is_some() { 0 } else { self.config.custom_properties.len() };
        if monitors + custom > MARKS {
            return Err(CheckError::Monitors { monitors: monitors + custom, max: MARKS });
        }
        let monitors_of_ends = self.selected.iter().fold(0, |bits, selected| match selected.kind {
            PropertyCheckKind::AlwaysAndAtEnd(index) => bits | 1 << index,
            _ => bits,
        });
        let layout = StateLayout {
            size: *size as usize,
            has_application_links: model.application_messages > 0,
            monitor_count: monitors,
            monitors_of_ends,
            custom_property_count: custom,
            detects_restarts: model.detects_restarts,
            has_election: *service == Service::MutexAndElection,
            has_forced_steps: !model.prefix.is_empty(),
        };
        if layout.process_mark_count() > MARKS {
            // Only a lock with an election has two marks per process. With one mark, every size
            // fits.
            return Err(CheckError::Size { size: *size, max: u32::BITS / 2 });
        }
        if layout.fixed_mark_count() > MARKS {
            return Err(CheckError::MonitorsOfEnds {
                monitors: monitors_of_ends.count_ones() as usize,
                size: *size,
                max: MARKS.saturating_sub(layout.process_mark_count()),
            });
        }
        Ok(layout)
    }

    /// Returns true if the options of the check permit shifts of timestamps. If the protocol
    /// defines shifts, the search then merges states that differ only by a shift.
    fn shifts_timestamps(&self, hooks: ProvidedHooks) -> bool {
        let CheckConfig { faults, search, .. } = &self.config;
        search.shifts_timestamps
            && faults.recoveries == 0
            && !hooks.has_stamping
            && !self
                .config
                .custom_properties
                .iter()
                .any(|property| custom::depends_on_timestamps(property))
    }

    /// Returns the commands that the users issue. Returns an error if the numbers of processes and
    /// requests are invalid, or if the properties exclude an option of the check.
    fn workload(&self, hooks: ProvidedHooks) -> Result<UserWorkload, CheckError> {
        let CheckConfig { size, model, faults, bounds, search, .. } = &self.config;
        let size = *size;
        if size == 0 || size > MAX_PROCESSES {
            return Err(CheckError::Size { size, max: MAX_PROCESSES });
        }
        let side = || faults.partition_side.iter().flatten();
        let crashes_at = faults.crash_filter.processes.iter().flatten();
        let has_named_faults = side().next().is_some() || faults.crash_filter.processes.is_some();
        let distinct = self.needs.depends_on_names || has_named_faults || model.detects_restarts;
        if hooks.renaming_count.is_some() && (distinct || self.needs_graph_analysis()) {
            return Err(CheckError::AsymmetricProperty);
        }
        let named =
            faults.initially_down.iter().chain(model.initiators.iter().flatten()).chain(side());
        let mut named = named.chain(crashes_at);
        if let Some(unknown) = named.find(|process| process.0 >= size) {
            return Err(CheckError::UnknownProcess { process: *unknown, size });
        }
        let entries = match &model.request_limits {
            RequestLimits::Same(each) => vec![*each; size as usize],
            RequestLimits::PerProcess(list) if list.len() == size as usize => list.clone(),
            RequestLimits::PerProcess(list) => {
                return Err(CheckError::Entries { given: list.len(), size });
            }
        };
        if entries.contains(&RequestLimit::Unbounded) {
            if !bounds.accepts_unbounded_entries {
                if !search.shifts_timestamps || !hooks.has_shifts {
                    return Err(CheckError::UnboundedEntries {
                        algorithm: self.config.name.clone(),
                    });
                }
                if !self.shifts_timestamps(hooks) {
                    return Err(CheckError::UnshiftedTimestamps);
                }
            }
            if self.needs.causality == CausalityTracking::Requests {
                return Err(CheckError::UnboundedOrder);
            }
        }
        let all_processes = || (0..size).map(ProcessId).collect();
        let initiators = model.initiators.clone().unwrap_or_else(all_processes);
        let (service, schedule) = (self.config.service, self.agreement_schedule.clone());
        let has_single_election = model.has_single_election;
        Ok(UserWorkload { entries, initiators, has_single_election, size, service, schedule })
    }

    /// Returns true if a selected property is judged under [`CheckConfig::fairness`].
    pub(crate) fn has_liveness_property(&self) -> bool {
        let is_safety = |kind| {
            use PropertyCheckKind::{Always, AlwaysAndAtEnd, CustomSafety};
            matches!(kind, Always(_) | AlwaysAndAtEnd(_) | CustomSafety(_))
        };
        self.selected.iter().any(|selected| !is_safety(selected.kind))
    }

    /// Returns true if a selected property needs an analysis of the graph after the search.
    pub(crate) fn needs_graph_analysis(&self) -> bool {
        let is_safety = |kind| {
            matches!(kind, PropertyCheckKind::Always(_) | PropertyCheckKind::CustomSafety(_))
        };
        self.selected.iter().any(|selected| !is_safety(selected.kind))
    }
}
