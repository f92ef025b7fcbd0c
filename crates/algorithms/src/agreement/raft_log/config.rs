//! Configuration of Raft with a log: timeouts, limits and variants.

use core::num::NonZeroU64;

use tenure_core::service::log::Members;
use tenure_core::{Delay, ProcessId, ProcessSet};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::election::raft;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Range of the random election timeout: much longer than the heartbeat interval, and wide
    /// enough that one process usually times out before the others.
    pub election_timeout: Delay,
    /// Interval between heartbeats: longer than a message and its response take together.
    pub heartbeat_interval: Delay,
    /// Upper bound on the number of entries in one message. The total payload of these entries is
    /// at most 512 KiB. If one entry has a larger payload, it is sent in a message of its own.
    pub max_batch_entries: u64,
    /// Upper bound on entries in flight to one follower.
    pub max_in_flight_entries: u64,
    /// Upper bound on the number of uncommitted proposals at a leader.
    pub max_uncommitted: usize,
    /// Number of committed entries after which this process asks its user for a snapshot. `None` if
    /// it never asks.
    pub snapshot_interval: Option<NonZeroU64>,
    /// Offset of the snapshots of this process, in entries. For example, with a `snapshot_interval`
    /// of 1,000 and an offset of 10, the process requests snapshots at the indices 990, 1,990 and
    /// so on. With different offsets, the processes do not take their snapshots at the same time.
    pub snapshot_offset: u64,
    /// Upper bound on the number of entries that the log retains for slow followers, although a
    /// snapshot covers these entries. The total payload of these entries is at most 16 MiB.
    pub trailing_entries: u64,
    /// Upper bound on snapshot bytes in one message; at least 1.
    pub snapshot_piece_bytes: usize,
    /// Initial membership, the same at each process; `None` for the whole group.
    pub initial_members: Option<Members>,
    /// Membership that the group should have. If the log of a leader has another membership, the
    /// leader starts a change to `target_members`. If `None`, leaders start no change.
    pub target_members: Option<Members>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns default limits and timeouts for a group of `size` processes whose messages take at
    /// most `delay` ticks.
    pub fn with_defaults(size: u32, delay: u64) -> Self {
        let raft::Config { election_timeout: election, heartbeat_interval: heartbeat, .. } =
            raft::Config::with_defaults(size, delay);
        Config {
            election_timeout: election,
            heartbeat_interval: heartbeat,
            max_batch_entries: 64,
            max_in_flight_entries: 1024,
            max_uncommitted: 4096,
            snapshot_interval: None,
            snapshot_offset: 0,
            trailing_entries: 1024,
            snapshot_piece_bytes: 64 << 10,
            initial_members: None,
            target_members: None,
            variants: Variants::none(),
        }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let raft::Config { election_timeout: election, heartbeat_interval: heartbeat, .. } =
            raft::Config::without_variants(parameters);
        let plain = Config::with_defaults(parameters.size, parameters.delay);
        let plain = Config { election_timeout: election, heartbeat_interval: heartbeat, ..plain };
        let variants: Variants<VariantId> = parameters.variants()?;
        let has = |switch| variants.has(switch);
        let max_batch_entries = if has(VariantId::OneEntry) { 1 } else { plain.max_batch_entries };
        let mut config = Config { max_batch_entries, ..plain };
        if has(VariantId::Compacting) {
            (config.snapshot_interval, config.trailing_entries, config.snapshot_piece_bytes) =
                (NonZeroU64::new(2), 0, 4);
        }
        let last = ProcessId(parameters.size.saturating_sub(1).max(1));
        let others = ProcessSet::first_n(last.0);
        if has(VariantId::Newcomer) && parameters.size > 1 {
            let mut wanted: ProcessSet = others.iter().take(others.len() as usize - 1).collect();
            wanted.insert(last);
            config.initial_members = Some(Members::from_voters(others));
            config.target_members = Some(Members::from_voters(wanted));
        } else if has(VariantId::Learner) && parameters.size > 1 {
            let learners = [last].into_iter().collect();
            config.initial_members = Some(Members { learners, ..Members::from_voters(others) });
        }
        Ok(Config { variants, ..config })
    }
}

variant_ids! {
    NoPreVote = "no-pre-vote", sound,
        "a candidate does not ask first whether it would be elected: a partitioned process \
         deposes a leader by its term";
    NoCheckQuorum = "no-check-quorum", sound,
        "a leader without responses of a majority still considers itself the leader";
    OneEntry = "one-entry", sound,
        "a message has at most one entry";
    Compacting = "compacting", sound,
        "a snapshot is requested after every two entries, and is sent in pieces of four bytes";
    Announcing = "announcing", sound,
        "a leader announces the commit index at once, not with its next message";
    Together = "together", sound,
        "a leader sends proposals in the next step, in one message with all others made until \
         then";
    Ahead = "ahead", sound,
        "a leader sends an entry before it stores it, and a candidate requests votes before its \
         own is saved, so that all disks write in parallel";
    Heartbeats = "heartbeats", sound,
        "a leader sends a silent follower a message that waits for no disk, and that is answered \
         at once";
    Noticing = "noticing", sound,
        "a removed process is notified; a process that lacks entries it has acknowledged detects \
         this and takes no further part";
    Newcomer = "newcomer", sound,
        "the last process is not a member initially; the leader replaces the one before it by it";
    Learner = "learner", sound,
        "the last process receives the log without being counted";
    NoCatchUp = "no-catch-up", sound,
        "a new voter counts at once, although it may lack the whole log";
    ForgottenVote = "forgotten-vote", unsound,
        "the vote is not saved: a restarted process votes a second time in the same term"
        => "", "-n 3 --crash 1 --recover 1 --entries 0 --property one-leader-per-term \
                --variant forgotten-vote,no-pre-vote --term-max 1 --in-flight 2";
    ForgottenTerm = "forgotten-term", unsound,
        "the term is not saved: a restarted process votes again in a term in which it has voted"
        => "", "-n 3 --crash 1 --recover 1 --entries 0 --property one-leader-per-term \
                --variant forgotten-term,no-pre-vote --term-max 1 --in-flight 2";
    UnsavedEntry = "unsaved-entry", unsound,
        "an entry is acknowledged before it is saved: a crash loses the last one"
        => "", "-n 3 --crash 1 --recover 1 --initiators 1 --property leader-completeness \
                --variant unsaved-entry,no-pre-vote --in-flight 1";
    ForgottenLog = "forgotten-log", unsound,
        "a process loses its log in a crash although it acknowledged the entries: the leader \
         still considers it a follower, and commits nothing"
        => "", "-n 2 --crash 1 --recover 1 --entries 1,0 --property progress \
                --variant forgotten-log --term-max 1 --in-flight 1 \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,\
                        deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,crash:p2,recover:p2,\
                        append:p1:1.1:1";
    ShorterLog = "shorter-log", unsound,
        "the first candidate gets the vote, regardless of its log"
        => "", "-n 3 --initiators 1 --property leader-completeness \
                --variant shorter-log,no-pre-vote --in-flight 1";
    OldTermCommit = "old-term-commit", unsound,
        "a leader counts the copies of entries of earlier terms as well (Figure 3.7)"
        => "", "-n 3 --entries 0 --property leader-completeness \
                --variant old-term-commit,one-entry,no-pre-vote --term-max 4 --in-flight 6 \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,\
                        fire:p3:election,fire:p3:election,deliver:p3→p2:2,deliver:p2→p3,\
                        deliver:p3→p1:2,fire:p1:election,deliver:p1→p2:2,deliver:p2→p1,\
                        deliver:p1→p2:2,deliver:p2→p1";
    CountedAhead = "counted-ahead", unsound,
        "a leader that sends entries before it stores them counts its own copy as if it were there"
        => "", "-n 3 --crash 1 --recover 1 --initiators 1 --property leader-completeness \
                --variant counted-ahead,ahead,no-pre-vote --in-flight 1";
    EagerTruncation = "eager-truncation", unsound,
        "a log is truncated after the entries of a message, although nothing conflicts"
        => "", "-n 3 --initiators 1 --property leader-completeness \
                --variant eager-truncation,no-pre-vote --in-flight 2";
    LonelyRead = "lonely-read", unsound,
        "a read is answered without confirming that no other process leads"
        => "", "-n 3 --partition 2 --property linearizable-reads \
                --variant lonely-read,no-pre-vote --in-flight 1";
    EarlyRead = "early-read", unsound,
        "a read is answered before an entry of the term is committed: earlier committed entries \
         may not be known yet"
        => "", "-n 3 --property linearizable-reads \
                --variant early-read,no-pre-vote --in-flight 2 \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,append:p1:1.1:1,\
                        deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1";
    SnapshotCutsTail = "snapshot-cuts-tail", unsound,
        "a snapshot replaces the whole log although that contains its last entry: later entries \
         are lost, and may have been counted"
        => "", "-n 3 --entries 3,0,0 --property leader-completeness \
                --variant snapshot-cuts-tail,compacting,no-pre-vote --term-max 2 --in-flight 6 \
                --after fire:p1:election,deliver:p1→p3,deliver:p3→p1,deliver:p1→p3,\
                        deliver:p3→p1,append:p1:1.1:1,fire:p1:heartbeat,deliver:p1→p3,\
                        deliver:p3→p1,compact:p1:2:94f17f32:2,fire:p1:heartbeat,\
                        deliver:p1→p2:4,deliver:p2→p1,deliver:p1→p2:3,deliver:p2→p1,\
                        read:p1:3,deliver:p1→p3:3,deliver:p3→p1,append:p1:1.4:4,\
                        deliver:p1→p2:5,deliver:p2→p1,deliver:p1→p2:3";
    ForgottenMembers = "forgotten-members", unsound,
        "a snapshot does not contain the members: its receiver uses the initial ones"
        => "", "-n 4 --entries 0 --crash 1 --recover 1 --property one-leader-per-term \
                --variant forgotten-members,newcomer,no-catch-up,compacting,no-pre-vote \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                        deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                        compact:p1:3:00000000:1,crash:p1,recover:p1";
    OneStepMembership = "one-step-membership", unsound,
        "members change in one step: a majority of the old ones and one of the new ones may be \
         disjoint"
        => "", "-n 4 --entries 0 --property leader-completeness \
                --variant one-step-membership,newcomer,no-catch-up,no-pre-vote --in-flight 1";
    CountedLearner = "counted-learner", unsound,
        "the copy of a learner counts towards a majority"
        => "", "-n 4 --entries 0 --property leader-completeness \
                --variant counted-learner,learner,no-pre-vote --in-flight 1";
}
