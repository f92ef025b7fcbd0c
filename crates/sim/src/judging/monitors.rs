//! Monitors of a run, selected by its services and settings.

use tenure_core::monitors::LinksOnly;
use tenure_core::{
    AgreementMonitorSet, ElectionMonitorSet, MonitorConfig, MonitorRun, MutexMonitorSet,
    Observation, ProcessId, Property,
};

use crate::engine::run_context::ProvidedServices;
use crate::settings::Settings;

/// Built-in monitors of a run. A monitor is `None` if the protocol does not offer its service, or
/// if the settings disable monitors.
#[derive(Debug)]
pub(crate) struct Monitors {
    pub(crate) mutex: Option<MutexMonitorSet>,
    pub(crate) election: Option<ElectionMonitorSet>,
    pub(crate) agreement: Option<AgreementMonitorSet>,
    /// Monitor that reports a message on a link that the algorithm may not use. `None` if the run
    /// does not check links.
    pub(crate) links: Option<MonitorRun<LinksOnly>>,
}

impl Monitors {
    /// Creates the monitors for the services of the protocol. Omits the monitors that the settings
    /// disable. `has_clocks` is true if requests carry vector clocks.
    pub(crate) fn new(settings: &Settings, services: ProvidedServices, has_clocks: bool) -> Self {
        let links = settings.monitoring.allowed_links.clone().map(MonitorRun::new);
        if !settings.monitoring.monitors {
            return Monitors { mutex: None, election: None, agreement: None, links };
        }
        let config = config(settings, has_clocks);
        Monitors {
            mutex: services.mutex.then(|| MutexMonitorSet::new(&config)),
            election: services.election.then(|| ElectionMonitorSet::new(&config)),
            agreement: services.agreement.map(|service| AgreementMonitorSet::new(service, &config)),
            links,
        }
    }

    pub(crate) fn on_crash(&mut self, now: u64, process: ProcessId) {
        if let Some(mutex) = &mut self.mutex {
            mutex.on_crash(now, process);
        }
        if let Some(election) = &mut self.election {
            election.observe(now, process, Observation::Crashed);
        }
        if let Some(agreement) = &mut self.agreement {
            agreement.observe(now, process, Observation::Crashed);
        }
    }

    pub(crate) fn on_recovery(&mut self, now: u64, process: ProcessId) {
        if let Some(mutex) = &mut self.mutex {
            mutex.on_recovery(now, process);
        }
        if let Some(election) = &mut self.election {
            election.observe(now, process, Observation::Recovered);
        }
        if let Some(agreement) = &mut self.agreement {
            agreement.observe(now, process, Observation::Recovered);
        }
    }

    /// Tells the monitors of elections that an event may have made a new election necessary.
    pub(crate) fn allow_new_election(&mut self) {
        if let Some(election) = &mut self.election {
            election.allow_new_election();
        }
    }
}

fn config(settings: &Settings, has_clocks: bool) -> MonitorConfig {
    let max_inside = settings.monitoring.max_inside;
    MonitorConfig {
        size: settings.size,
        max_inside,
        conflicts: settings.monitoring.conflicts.clone(),
        has_fences: settings.monitoring.fenced,
        judges_strict_exclusion: settings.lists_property(Property::MutualExclusionStrict)
            || max_inside == 1 && !settings.faults.is_empty(),
        bypass_bounds: settings.bypass_bounds(),
        has_vector_clocks: has_clocks,
        ranks: Some(settings.ranks.clone()),
        smallest_leads: settings.lists_property(Property::SmallestLeads),
        judges_groups: settings.lists_property(Property::OneLeaderPerGroup),
        down: settings.down.clone(),
        graph: settings.monitoring.allowed_links.as_ref().and_then(LinksOnly::graph).cloned(),
    }
}
