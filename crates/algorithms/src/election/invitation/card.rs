//! Card of the invitation election: assumptions, faults, costs and promises.

use alloc::sync::Arc;
use alloc::vec;

use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ConfigurableTimeout, CrashModel, DetectorClass, MessageCost, Property, Rank,
    Timing, ToleratedFaults,
};

use super::config::{
    ACCEPT_TIMEOUT_NAME, CHECK_TIMEOUT_NAME, MERGE_TIMEOUT_NAME, READY_TIMEOUT_NAME,
};
use super::{Config, InvitationElection, VariantId};
use crate::Variants;

impl Algorithm for InvitationElection {
    fn card(config: &Config, size: u32) -> Card {
        let others = u64::from(size) - 1;
        Card {
            timing: Timing::Partial,
            faults: ToleratedFaults {
                loss: true,
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "survives any faults of processes and links; while parts of the group cannot \
                     communicate, each has its own leader",
                )
            },
            detection: DetectorClass::EventuallyPerfect,
            messages: MessageCost::per_election("3(N−1) … no bound", 3 * others, None)
                .zero_if_alone(size),
            promises: vec![
                Property::Agreement,
                Property::Progress,
                Property::OneLeaderPerGroup,
                Property::FreshTerms,
            ],
            timeouts: vec![
                ConfigurableTimeout::new(
                    CHECK_TIMEOUT_NAME,
                    "interval at which a coordinator looks for other groups",
                    config.check_interval,
                ),
                ConfigurableTimeout::new(
                    MERGE_TIMEOUT_NAME,
                    "time before the highest rank invites; each lower rank waits this much longer",
                    config.merge_delay_per_rank,
                ),
                ConfigurableTimeout::new(
                    ACCEPT_TIMEOUT_NAME,
                    "time for which an inviting process waits for acceptances",
                    config.accept_timeout,
                ),
                ConfigurableTimeout::new(
                    READY_TIMEOUT_NAME,
                    "time within which a group becomes ready for a process that has accepted",
                    config.ready_timeout,
                ),
            ],
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "invitation",
                "groups with a coordinator each invite each other and merge",
                "Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982",
            )
        }
    }

    /// Returns the lower bound 5(N − 1) for a first election that one process starts, and `None`
    /// for all other workloads. There are five messages for each process except the leader: the
    /// question, the answer, the invitation, the acceptance, and the message that the group is
    /// ready.
    fn predicted_messages(_: &Config, size: u32, workload: WorkloadKind) -> Option<Prediction> {
        let is_first = matches!(workload, WorkloadKind::OneStarts(_));
        let least = Prediction::new(PredictionKind::Least, 5 * (u64::from(size) - 1));
        is_first.then_some(least)
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    /// Returns the highest known number of a group. The number of a group is part of the term of
    /// its leader.
    fn highest_term(&self) -> u64 {
        self.number
    }
}
