//! Tests of a lock at a leader that has a lease. A partition separates the processes. If clocks are
//! accurate, a holder exits before a process on the opposite side enters. There are two negative
//! controls, in which mutual exclusion is violated. In the first, an entry does not expire. In the
//! second, the leader grants the lock again before the entry expires.

use tenure_algorithms::compose::{Coordinated, MutexOnly, coordinated};
use tenure_algorithms::election::{Raft, raft};
use tenure_algorithms::mutex::ExpiringEntryDurations;
use tenure_check::Report;
use tenure_core::monitors::MutualExclusion;
use tenure_core::{Delay, ProcessId, TICKS_PER_UNIT};

use crate::by_service::with;
use crate::catalogue::violates;

type Lock = MutexOnly<Coordinated<Raft>>;

/// Returns durations that are just long enough for mutual exclusion if messages take no time. The
/// lease is longer than the renewal interval, and the reservation is longer than the lease.
fn times() -> ExpiringEntryDurations {
    let [lease, expiry, renewal] = [2, 3, 1].map(Delay::units);
    ExpiringEntryDurations {
        lease,
        reservation: expiry,
        renewal_interval: renewal,
        request_modulus: 1,
    }
}

/// Checks three processes. A partition separates P1 from P2 and P3. The partition may begin at any
/// moment, and does not end. Each side then suspects the other side.
fn partitioned(times: Option<ExpiringEntryDurations>, entries: [u32; 3]) -> Report {
    let election = raft::Config {
        election_timeout: Delay::between_units(3, 4),
        heartbeat_interval: Delay::units(1),
        lease_duration: Delay::units(1),
        heartbeat_modulus: 1,
        ..raft::Config::plain(3, TICKS_PER_UNIT)
    };
    let config = coordinated::Config { election, entry_durations: times };
    let check = with::<Lock>(3, config).entries(entries).initiators([]);
    let check =
        check.fifo().detecting_failures().term_max(2).in_flight_per_link(2).synchronous(0..=0);
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
    let at_once = ExpiringEntryDurations { reservation: Delay::units(0), ..times() };
    for times in [None, Some(at_once)] {
        violates(&partitioned(times, [1, 1, 0]), "mutual-exclusion");
    }
}
