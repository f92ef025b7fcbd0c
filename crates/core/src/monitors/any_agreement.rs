//! The monitors of all services of agreement as one, for engines that run any of them.

use alloc::vec::Vec;

use super::all_arrive::AllArrive;
use super::consistent_cut::ConsistentCut;
use super::decisions::{DecidedOnce, OneDecision, Proposed};
use super::deliveries::{AllDeliver, DeliveredOnce, NoCreation, OneOrder};
use super::log::{
    AnsweredOnce, Appended, CommittedOnce, Completeness, LinearizableReads, LogMatching,
    OneHistory, OneLeading,
};
use super::names::{SmallNames, UniqueNames};
use super::one_view::OneView;
use super::quiescence::Quiescence;
use crate::card::Service;
use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::agreement::{Command, Event};

/// Makes one of all monitors: of which service each is, its type, and how it begins in a group of
/// `size` in which `down` are down from the start.
macro_rules! monitors {
    ($size:ident, $down:ident: $($Name:ident of $Service:ident: $Monitor:ty = $new:expr;)+) => {
        /// A monitor of any service of agreement.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is named as what it judges")]
        pub enum AnyAgreement {
            $($Name($Monitor)),+
        }

        impl AnyAgreement {
            /// All monitors of a service in a group of `size` in which these are down from the
            /// start.
            #[allow(unused_variables, reason = "most need nothing")]
            pub fn all(service: Service, $size: u32, $down: &[ProcessId]) -> Vec<Self> {
                let mut monitors = Vec::new();
                $(if service == Service::$Service {
                    monitors.push(AnyAgreement::$Name($new));
                })+
                monitors
            }
        }

        impl Monitor<Command, Event> for AnyAgreement {
            fn property(&self) -> Property {
                match self {
                    $(AnyAgreement::$Name(monitor) => monitor.property()),+
                }
            }

            fn observe(
                &mut self,
                at: ProcessId,
                seen: Observed<'_, Command, Event>,
            ) -> Result<(), Violation> {
                match self {
                    $(AnyAgreement::$Name(monitor) => monitor.observe(at, match seen {
                        Observed::Command { command: Command::$Service(command), clock } => {
                            Observed::Command { command, clock }
                        }
                        Observed::Event(Event::$Service(event)) => Observed::Event(event),
                        Observed::Crashed => Observed::Crashed,
                        Observed::Recovered => Observed::Recovered,
                        _ => return Ok(()),
                    }),)+
                }
            }

            fn at_end(&self) -> Result<(), Violation> {
                match self {
                    $(AnyAgreement::$Name(monitor) => monitor.at_end()),+
                }
            }
        }
    };
}

monitors! { size, down:
    OneDecision of Consensus: OneDecision = OneDecision::new();
    Proposed of Consensus: Proposed = Proposed::new();
    DecidedOnce of Consensus: DecidedOnce = DecidedOnce::new();
    AllDeliver of Broadcast: AllDeliver = AllDeliver::new(size, down);
    AllDeliverUniformly of Broadcast: AllDeliver = AllDeliver::new(size, down).uniformly();
    DeliveredOnce of Broadcast: DeliveredOnce = DeliveredOnce::new();
    NoCreation of Broadcast: NoCreation = NoCreation::new();
    OneOrder of Broadcast: OneOrder = OneOrder::new();
    ConsistentCut of Snapshot: ConsistentCut = ConsistentCut::new();
    AllArrive of Barrier: AllArrive = AllArrive::new(size);
    Quiescence of Termination: Quiescence = Quiescence::new();
    OneView of Membership: OneView = OneView::new();
    UniqueNames of Renaming: UniqueNames = UniqueNames::new();
    SmallNames of Renaming: SmallNames = SmallNames::new(size);
    OneLeading of Log: OneLeading = OneLeading::new();
    LogMatching of Log: LogMatching = LogMatching::new();
    LeaderCompleteness of Log: Completeness = Completeness::new();
    NothingLost of Log: Completeness = Completeness::new().of_acknowledged();
    OneHistory of Log: OneHistory = OneHistory::new();
    LinearizableReads of Log: LinearizableReads = LinearizableReads::new();
    AnsweredOnce of Log: AnsweredOnce = AnsweredOnce::new();
    Appended of Log: Appended = Appended::new();
    CommittedOnce of Log: CommittedOnce = CommittedOnce::new();
}

impl AnyAgreement {
    /// Whether it judges the end of a run, and not each step alone: consensus errs by a step.
    pub fn judges_the_end(&self) -> bool {
        let by_a_step = matches!(self, AnyAgreement::OneDecision(_) | AnyAgreement::Proposed(_));
        self.property().is_of_the_end() && !by_a_step
    }

    /// The monitor of a property of a service; `None` where nothing judges it there.
    pub fn of(service: Service, property: Property, size: u32, down: &[ProcessId]) -> Option<Self> {
        let all = AnyAgreement::all(service, size, down);
        all.into_iter().find(|monitor| monitor.property() == property)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_is_said_to_be_judged_by_judges_it() {
        for service in Service::AGREEMENTS {
            for property in Property::ALL {
                let judged = AnyAgreement::of(*service, property, 3, &[]).is_some();
                let said = property.is_of(*service) && property != Property::Progress;
                assert_eq!(judged, said, "{property} of {}", service.name());
            }
        }
    }
}
