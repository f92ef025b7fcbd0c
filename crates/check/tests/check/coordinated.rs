//! Tests of a lock at a leader that has a lease. A partition separates the processes. If clocks are
//! accurate, a holder exits before a process on the opposite side enters. There are two negative
//! controls, in which mutual exclusion is violated. In the first, an entry does not expire. In the
//! second, the leader grants the lock again before the entry expires.

use tenure_algorithms::compose::{CoordinatedLock, MutexOnly, coordinated};
use tenure_algorithms::election::{RaftElection, raft};
use tenure_algorithms::mutex::LeaseDurations;
use tenure_check::CheckReport;
use tenure_core::monitors::MutualExclusion;
use tenure_core::{Delay, ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::with;
use crate::catalogue::violates;

type Lock = MutexOnly<CoordinatedLock<RaftElection>>;

/// Returns durations that are just long enough for mutual exclusion if messages take no time. The
/// lease is longer than the renewal interval, and the reservation is longer than the lease.
fn times() -> LeaseDurations {
    let [lease, expiry, renewal] = [2, 3, 1].map(Delay::time_units);
    LeaseDurations { lease, reservation: expiry, renewal_interval: renewal, request_modulus: 1 }
}

/// Checks three processes. A partition separates P1 from P2 and P3. The partition may begin at any
/// moment, and does not end. Each side then suspects the other side.
fn partitioned(times: Option<LeaseDurations>, entries: [u32; 3]) -> CheckReport {
    let election = raft::Config {
        election_timeout: Delay::between_time_units(3, 4),
        heartbeat_interval: Delay::time_units(1),
        lease_duration: Delay::time_units(1),
        heartbeat_modulus: 1,
        ..raft::Config::with_defaults(3, TICKS_PER_TIME_UNIT)
    };
    let config = coordinated::Config { election, entry_durations: times };
    let check = with::<Lock>(3, config).request_limits(entries).initiators([]);
    let check =
        check.fifo().detecting_failures().max_term(2).in_flight_per_link(2).synchronous(0..=0);
    check.partitioning([ProcessId(0)]).always(MutualExclusion::new()).run()
}

#[test]
#[ignore = "takes two minutes on one core when optimised"]
fn partition_keeps_mutual_exclusion_with_accurate_clocks() {
    partitioned(Some(times()), [1, 1, 0]).assert_holds();
}

/// The lock is unsafe if an entry does not expire, or if the lock is granted to the next process
/// too early.
#[test]
fn missing_entry_expiry_is_unsafe() {
    let at_once = LeaseDurations { reservation: Delay::time_units(0), ..times() };
    for times in [None, Some(at_once)] {
        violates(&partitioned(times, [1, 1, 0]), "mutual-exclusion");
    }
}
