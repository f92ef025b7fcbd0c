//! The monitors of all agreement services as one type, for engines that run any of them.

use alloc::vec::Vec;

use super::all_arrive::NoEarlyDeparture;
use super::causal_order::CausalOrder;
use super::consistent_cut::ConsistentCut;
use super::decisions::{DecidedOnce, DecidedWasProposed, OneDecision};
use super::deliveries::{AllDeliver, DeliveredOnce, NoCreation, TotalOrder};
use super::log::{
    AnsweredOnce, CommittedOnce, CommittedWasAppended, ElectionSafety, LeaderCompleteness,
    LinearizableReads, LogMatching, StateMachineSafety,
};
use super::minimum_tree::MinimumTree;
use super::names::{NamesInRange, UniqueNames};
use super::one_view::ViewAgreement;
use super::quiescence::NoFalseTermination;
use super::resources::{NoPhantomDeadlock, OneHolder};
use super::session_exclusion::{BottleExclusion, ForumExclusion};
use super::shares::{ShareExclusion, ShareFencing};
use super::waves::{AllReached, WaveTree};
use crate::card::Service;
use crate::graph::Graph;
use crate::monitor::{Monitor, MonitorResult, Observation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::agreement::{Command, Event};

/// Defines an enum of all monitors. Each line gives the name of the variant, the service, the type
/// and the constructor call of one monitor. The constructor call may use the group size `size` and
/// the processes `down`, which are down from the start.
macro_rules! monitors {
    ($size:ident, $down:ident: $($Name:ident of $Service:ident: $Monitor:ty = $new:expr;)+) => {
        /// A monitor of one property of an agreement service.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is named as what it judges")]
        pub enum AgreementMonitor {
            $($Name($Monitor)),+
        }

        impl AgreementMonitor {
            /// Creates all monitors of `service` for a group of `size` processes. The processes
            /// `down` are down from the start.
            #[allow(unused_variables, reason = "most need nothing")]
            pub fn all_for_service(service: Service, $size: u32, $down: &[ProcessId]) -> Vec<Self> {
                let mut monitors = Vec::new();
                $(if service == Service::$Service {
                    monitors.push(AgreementMonitor::$Name($new));
                })+
                monitors
            }
        }

        impl Monitor<Command, Event> for AgreementMonitor {
            fn property(&self) -> Property {
                match self {
                    $(AgreementMonitor::$Name(monitor) => monitor.property()),+
                }
            }

            fn observe(
                &mut self,
                at: ProcessId,
                seen: Observation<'_, Command, Event>,
            ) -> MonitorResult {
                match self {
                    $(AgreementMonitor::$Name(monitor) => monitor.observe(at, match seen {
                        Observation::Command { command: Command::$Service(command), clock } => {
                            Observation::Command { command, clock }
                        }
                        Observation::Event(Event::$Service(event)) => Observation::Event(event),
                        Observation::Crashed => Observation::Crashed,
                        Observation::Recovered => Observation::Recovered,
                        _ => return Ok(()),
                    }),)+
                }
            }

            fn check_final_state(&self) -> MonitorResult {
                match self {
                    $(AgreementMonitor::$Name(monitor) => monitor.check_final_state()),+
                }
            }
        }
    };
}

monitors! { size, down:
    OneDecision of Consensus: OneDecision = OneDecision::default();
    DecidedWasProposed of Consensus: DecidedWasProposed = DecidedWasProposed::default();
    DecidedOnce of Consensus: DecidedOnce = DecidedOnce::default();
    AllDeliver of Broadcast: AllDeliver = AllDeliver::new(size, down);
    AllDeliverUniformly of Broadcast: AllDeliver =
        AllDeliver::new(size, down).requiring_uniform_agreement();
    DeliveredOnce of Broadcast: DeliveredOnce = DeliveredOnce::default();
    NoCreation of Broadcast: NoCreation = NoCreation::default();
    TotalOrder of Broadcast: TotalOrder = TotalOrder::default();
    ConsistentCut of Snapshot: ConsistentCut = ConsistentCut::default();
    NoEarlyDeparture of Barrier: NoEarlyDeparture = NoEarlyDeparture::new(size);
    Quiescence of Termination: NoFalseTermination = NoFalseTermination::default();
    ViewAgreement of Membership: ViewAgreement = ViewAgreement::default();
    UniqueNames of Renaming: UniqueNames = UniqueNames::default();
    NamesInRange of Renaming: NamesInRange = NamesInRange::new(size);
    ElectionSafety of Log: ElectionSafety = ElectionSafety::default();
    LogMatching of Log: LogMatching = LogMatching::default();
    LeaderCompleteness of Log: LeaderCompleteness = LeaderCompleteness::default();
    NothingLost of Log: LeaderCompleteness =
        LeaderCompleteness::default().for_acknowledged_entries();
    StateMachineSafety of Log: StateMachineSafety = StateMachineSafety::default();
    LinearizableReads of Log: LinearizableReads = LinearizableReads::default();
    AnsweredOnce of Log: AnsweredOnce = AnsweredOnce::default();
    CommittedWasAppended of Log: CommittedWasAppended = CommittedWasAppended::default();
    CommittedOnce of Log: CommittedOnce = CommittedOnce::default();
    WaveTree of Wave: WaveTree = WaveTree::default();
    AllReached of Wave: AllReached = AllReached::new(size);
    MinimumTree of SpanningTree: MinimumTree = MinimumTree::default();
    BottleExclusion of Drinking: BottleExclusion = BottleExclusion::default();
    ForumExclusion of Forum: ForumExclusion = ForumExclusion::default();
    OneHolder of Resources: OneHolder = OneHolder::default();
    NoPhantomDeadlock of Resources: NoPhantomDeadlock = NoPhantomDeadlock::default();
    CausalOrder of Broadcast: CausalOrder = CausalOrder::default();
    ShareExclusion of Shares: ShareExclusion = ShareExclusion::default();
    ShareFencing of Shares: ShareFencing = ShareFencing::default();
}

impl AgreementMonitor {
    /// Returns the monitor with the graph of the links. `self` must be in its initial state. Only
    /// the monitor of the minimum spanning tree uses the graph. Any other monitor is returned
    /// unchanged.
    #[must_use]
    pub fn with_graph(self, graph: Option<&Graph>) -> Self {
        match (self, graph) {
            (AgreementMonitor::MinimumTree(_), Some(graph)) => {
                AgreementMonitor::MinimumTree(MinimumTree::for_graph(graph))
            }
            (monitor, _) => monitor,
        }
    }

    /// Returns true if only the final state of a run decides the property of this monitor. Returns
    /// false for the monitors of agreement and of validity in consensus, because single steps
    /// decide these properties. In elections, the same properties are judged at the end.
    pub fn is_judged_at_end(&self) -> bool {
        let by_a_step = matches!(
            self,
            AgreementMonitor::OneDecision(_) | AgreementMonitor::DecidedWasProposed(_)
        );
        self.property().is_decided_at_end() && !by_a_step
    }

    /// Creates the monitor of `service` that judges `property`, for a group of `size` processes.
    /// The processes `down` are down from the start. Returns `None` if `service` has no monitor of
    /// `property`.
    pub fn for_property(
        service: Service,
        property: Property,
        size: u32,
        down: &[ProcessId],
    ) -> Option<Self> {
        let all = AgreementMonitor::all_for_service(service, size, down);
        all.into_iter().find(|monitor| monitor.property() == property)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_applicable_property_has_monitor() {
        for service in Service::AGREEMENTS {
            for property in Property::ALL {
                let judged = AgreementMonitor::for_property(*service, property, 3, &[]).is_some();
                let applies = property.applies_to(*service) && property != Property::Progress;
                assert_eq!(judged, applies, "{property} of {}", service.name());
            }
        }
    }
}
