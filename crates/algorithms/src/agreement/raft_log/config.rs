//! What is fixed about a log kept by Raft: its timeouts, how much is under way, and which rules.

use core::num::NonZeroU64;

use tenure_core::service::log::Members;
use tenure_core::{Delay, ProcessId, ProcessSet};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::election::raft;
use crate::variants::switches;

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The election timeout: much longer than the heartbeat, and wide enough for one process to
    /// be alone in time out of it.
    pub election: Delay,
    /// How often a leader says that it is there: longer than a message and its answer take.
    pub heartbeat: Delay,
    /// How many entries one message has at most, unless they have more than 1 MiB.
    pub batch: u64,
    /// How many entries are under way to one process at most.
    pub window: u64,
    /// How many entries a leader takes at most before any of them is committed.
    pub backlog: usize,
    /// After how many entries each that were committed our user is told that a snapshot is needed;
    /// never, if nothing.
    pub snapshot_after: Option<NonZeroU64>,
    /// How many entries sooner than at a multiple of that: something else at each process, and not
    /// all of them are busy with one at the same entry.
    pub snapshot_sooner: u64,
    /// How many entries before the end of a snapshot are kept, for those who are a little behind,
    /// unless they have more than 16 MiB.
    pub trailing: u64,
    /// How many bytes of a snapshot one message has at most; 1 or more.
    pub piece: usize,
    /// Who keeps the log at the beginning: some of the group, the same at each process; all, if
    /// nothing.
    pub members: Option<Members>,
    /// Who is to keep it: a leader whose log says otherwise changes that by itself, unless nothing.
    pub wanted: Option<Members>,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The timeouts of the election alone, for a group of `size` whose messages take at most
    /// `delay` ticks.
    pub fn plain(size: u32, delay: u64) -> Self {
        let raft::Config { election, heartbeat, .. } = raft::Config::plain(size, delay);
        Config {
            election,
            heartbeat,
            batch: 64,
            window: 1024,
            backlog: 4096,
            snapshot_after: None,
            snapshot_sooner: 0,
            trailing: 1024,
            piece: 64 << 10,
            members: None,
            wanted: None,
            variants: Variants::none(),
        }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let raft::Config { election, heartbeat, .. } = raft::Config::timed(parameters);
        let plain = Config::plain(parameters.size, parameters.delay);
        let plain = Config { election, heartbeat, ..plain };
        let variants: Variants<Switch> = parameters.variants()?;
        let has = |switch| variants.has(switch);
        let batch = if has(Switch::OneEntry) { 1 } else { plain.batch };
        let mut config = Config { batch, ..plain };
        if has(Switch::Compacting) {
            (config.snapshot_after, config.trailing, config.piece) = (NonZeroU64::new(2), 0, 4);
        }
        let last = ProcessId(parameters.size.saturating_sub(1).max(1));
        let others = ProcessSet::first(last.0);
        if has(Switch::Newcomer) && parameters.size > 1 {
            let mut wanted: ProcessSet = others.iter().take(others.len() as usize - 1).collect();
            wanted.insert(last);
            config.members = Some(Members::of(others));
            config.wanted = Some(Members::of(wanted));
        } else if has(Switch::Learner) && parameters.size > 1 {
            let learners = [last].into_iter().collect();
            config.members = Some(Members { learners, ..Members::of(others) });
        }
        Ok(Config { variants, ..config })
    }
}

switches! {
    NoPreVote = "no-pre-vote", sound,
        "a candidate does not ask first whether it would be elected: who was cut off deposes a \
         leader by its term";
    NoCheckQuorum = "no-check-quorum", sound,
        "a leader whom no majority answers goes on to believe that it leads";
    OneEntry = "one-entry", sound,
        "a message has at most one entry";
    Compacting = "compacting", sound,
        "a snapshot is wanted after every two entries, and is sent in pieces of four bytes";
    Announcing = "announcing", sound,
        "a leader tells the others at once what is committed, and not with its next message";
    Together = "together", sound,
        "a leader sends what is proposed in the step after, in one message with all that was \
         proposed by then";
    Ahead = "ahead", sound,
        "a leader sends an entry before it stores it, and a candidate asks for votes before its \
         own is saved, so that all disks work at the same time";
    Heartbeats = "heartbeats", sound,
        "a leader sends whoever has not answered a message that waits for no disk, and that is \
         answered at once";
    Noticing = "noticing", sound,
        "a removed process is told so; a process that lacks entries it has acknowledged notices \
         this and takes no further part";
    Newcomer = "newcomer", sound,
        "the last process is no member at first; whoever leads has it take the place of the one \
         before it";
    Learner = "learner", sound,
        "the last process has the log and does not count";
    NoCatchUp = "no-catch-up", sound,
        "who is to vote counts at once, though it may lack all of the log";
    ForgottenVote = "forgotten-vote", unsound,
        "the vote is not saved: whoever comes back votes a second time in the same term"
        => "", "-n 3 --crash 1 --recover 1 --entries 0 --property one-leader-per-term \
                --variant forgotten-vote,no-pre-vote --term-max 1 --in-flight 2";
    ForgottenTerm = "forgotten-term", unsound,
        "the term is not saved: whoever comes back votes again in one that it has voted in"
        => "", "-n 3 --crash 1 --recover 1 --entries 0 --property one-leader-per-term \
                --variant forgotten-term,no-pre-vote --term-max 1 --in-flight 2";
    UnsavedEntry = "unsaved-entry", unsound,
        "an entry is answered for before it is saved: a crash loses the last one"
        => "", "-n 3 --crash 1 --recover 1 --initiators 1 --property leader-completeness \
                --variant unsaved-entry,no-pre-vote --in-flight 1";
    ForgottenLog = "forgotten-log", unsound,
        "a process loses its log in a crash, though it acknowledged the entries: its leader takes \
         it for a follower, and commits nothing"
        => "", "-n 2 --crash 1 --recover 1 --entries 1,0 --property progress \
                --variant forgotten-log --term-max 1 --in-flight 1 \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,\
                        deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,crash:p2,recover:p2,\
                        append:p1:1.1:1";
    ShorterLog = "shorter-log", unsound,
        "votes go to whoever asks first, whatever its log has"
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
        "a log is cut behind what a message has, though nothing there differs"
        => "", "-n 3 --initiators 1 --property leader-completeness \
                --variant eager-truncation,no-pre-vote --in-flight 2";
    LonelyRead = "lonely-read", unsound,
        "a read is answered without asking anybody whether another leads by now"
        => "", "-n 3 --partition 2 --property linearizable-reads \
                --variant lonely-read,no-pre-vote --in-flight 1";
    EarlyRead = "early-read", unsound,
        "a read is answered before an entry of the term is committed: what was committed before \
         may not be known yet"
        => "", "-n 3 --property linearizable-reads \
                --variant early-read,no-pre-vote --in-flight 2 \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,append:p1:1.1:1,\
                        deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1";
    SnapshotCutsTail = "snapshot-cuts-tail", unsound,
        "a snapshot replaces the whole log, though that has its last entry: what comes behind is \
         lost, and may have been counted"
        => "", "-n 3 --entries 3,0,0 --property leader-completeness \
                --variant snapshot-cuts-tail,compacting,no-pre-vote --term-max 2 --in-flight 6 \
                --after fire:p1:election,deliver:p1→p3,deliver:p3→p1,deliver:p1→p3,\
                        deliver:p3→p1,append:p1:1.1:1,fire:p1:heartbeat,deliver:p1→p3,\
                        deliver:p3→p1,compact:p1:2:94f17f32:2,fire:p1:heartbeat,\
                        deliver:p1→p2:4,deliver:p2→p1,deliver:p1→p2:3,deliver:p2→p1,\
                        read:p1:3,deliver:p1→p3:3,deliver:p3→p1,append:p1:1.4:4,\
                        deliver:p1→p2:5,deliver:p2→p1,deliver:p1→p2:3";
    ForgottenMembers = "forgotten-members", unsound,
        "a snapshot does not say who keeps the log: whoever is given it goes by those who began"
        => "", "-n 4 --entries 0 --crash 1 --recover 1 --property one-leader-per-term \
                --variant forgotten-members,newcomer,no-catch-up,compacting,no-pre-vote \
                --after fire:p1:election,deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                        deliver:p1→p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                        compact:p1:3:00000000:1,crash:p1,recover:p1";
    OneStepMembership = "one-step-membership", unsound,
        "members change in one step: a majority of the old ones and one of the new ones may share \
         nobody"
        => "", "-n 4 --entries 0 --property leader-completeness \
                --variant one-step-membership,newcomer,no-catch-up,no-pre-vote --in-flight 1";
    CountedLearner = "counted-learner", unsound,
        "the copy of a process that only learns counts for a majority"
        => "", "-n 4 --entries 0 --property leader-completeness \
                --variant counted-learner,learner,no-pre-vote --in-flight 1";
}
