//! A member: its log and its store, and what its services ask of them.

use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::raft_log::{self, Switch};
use tenure_algorithms::agreement::{RelayedLog, relayed_log};
use tenure_core::service::log::{Members, Reason};
use tenure_core::{Delay, ProcessId, ProcessSet};
use tenure_runtime::store::{OpenError, Owner, Registry, SaveCounts, SaveError, Saves};
use tenure_runtime::transport::{Listen, Settings, View};
use tenure_runtime::{Failure, Injection, Parts, Recorder, StartError, Store, set_back, start};
use tenure_store::{Asker, Command, LeaseId, Outcome};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout_at};
use tracing::warn;

use crate::beside::Turns;
use crate::budget::Budget;
use crate::config::{ClusterState, Config, ConfigError, Plan};
use crate::convert::signed;
use crate::desk::{Ask, Desk};
use crate::errand::{Change, Errand, Released, Renewal, Return, Undone, What, encoded};
use crate::eviction::{Eviction, watch_membership};
use crate::hashing::Hashing;
use crate::image;
use crate::intake::Intake;
use crate::leader_monitor::LeaderMonitor;
use crate::led::may_try_again;
use crate::peers::{limits, trust};
use crate::proposal::{BACKLOG, Backlog, Unheard};
use crate::refusal::{Refusal, Refusals};
use crate::renewals::{Renewals, Renewed, keep_time, note_renewals};
use crate::state::{Shared, Standing, State};
use crate::tokens::Tokens;
use crate::visits::Visits;
use tenure_etcd::etcdserverpb::ResponseHeader;

/// How many may look at many keys at a time: each has a list of all that it looks at.
const LOOKING: usize = 4;

/// Longest time in which a leader that hands over notes what is left of leases.
const NOTING: Duration = Duration::from_millis(500);

/// How long a request may take, besides an election.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how few messages that a member has yet to take it is told what it need not know.
const FEW_HELD: usize = 1000;

/// How many entries one message of the log has.
pub(crate) const BATCH: u64 = 32;

/// What state the log's directory is of.
pub(crate) const SCHEMA: &str = "raft-log, entries of tenure-server 5";

/// Why a member did not start, or could not go on.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The configuration cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was saved cannot be had.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// Nothing could be saved.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The log did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its state could not be saved, or its peers refuse it.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// It must not take part any more.
    #[error(transparent)]
    Evicted(#[from] Eviction),
    /// Clients cannot be served.
    #[error("cannot serve clients at {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// What the system says.
        source: io::Error,
    },
}

impl ServeError {
    /// Whether the configuration is to blame, rather than the machine.
    pub fn is_misconfiguration(&self) -> bool {
        matches!(self, ServeError::Config(_))
    }

    /// Whether this member is refused for good, by its peers or by what it knows of itself.
    pub fn is_expulsion(&self) -> bool {
        matches!(self, ServeError::Failure(Failure::Expelled(_)) | ServeError::Evicted(_))
    }
}

/// The task of a log, and how it ended.
pub(crate) type Log = JoinHandle<Result<(), Failure>>;

/// A member that runs.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) plan: Plan,
    pub(crate) shared: Arc<Shared>,
    asks: mpsc::UnboundedSender<Ask>,
    backlog: Backlog,
    /// The longest that a leader may be silent.
    election: Duration,
    session: u64,
    saves: Saves,
    /// The connections of the other members.
    pub(crate) peers: View,
    pub(crate) visits: Visits,
    pub(crate) refusals: Refusals,
    pub(crate) budget: Budget,
    pub(crate) intake: Intake,
    /// Who looks at many keys.
    pub(crate) turns: Turns,
    /// Whether it has come back to what it had told anybody in its last life.
    is_back: watch::Sender<bool>,
    /// What it remembers of the membership beyond a restart.
    pub(crate) registry: Registry,
    pub(crate) hashing: Hashing,
    pub(crate) tokens: Tokens,
    renewals: Renewals,
    pub(crate) leader_monitor: LeaderMonitor,
}

impl Member {
    /// Opens what it stands on, and starts its log. The task ends when the log does.
    pub(crate) fn start(config: &Config, plan: Plan) -> Result<(Arc<Member>, Log), ServeError> {
        let owner = owner(config, &plan);
        let Owner { cluster, process: me, group_size: size } = owner.clone();
        let (store, registry) = opened(config, &plan, &owner)?;
        let members = first_members(!registry.has_joined(), me, size);
        let (session, saves) = (store.session(), store.saves());
        // Nobody connects to a member that is alone; it listens nowhere that others could find.
        let peers = if size == 1 { ([127, 0, 0, 1], 0).into() } else { plan.peers };
        let transport = Settings {
            cluster,
            me,
            session,
            listen: Listen::Address(peers),
            addresses: plan.members.iter().map(|it| it.address.clone()).collect(),
            trust: trust(config, me, size)?,
            limits: limits(),
        };
        let shared = Arc::new(Shared::new(members.clone()));
        let (asks, asked) = mpsc::unbounded_channel();
        let running = start::<RelayedLog, Desk>(Parts {
            config: log_config(config, me, size, members).of_life(session),
            transport,
            store,
            local: Desk::new(me, session, shared.clone(), Some(registry.clone())),
            asks: asked,
            recorder: Recorder::none(),
            injection: Injection::none(),
            suspected: None,
        })?;
        let election = Duration::from_millis(2 * config.election_timeout);
        let (visits, refusals) = (Visits::new(), Refusals::default());
        let (renewals, renewed) = Renewals::new();
        let leader_monitor = LeaderMonitor::start(shared.standing.subscribe(), election / 2);
        let member = Arc::new(Member {
            plan,
            shared,
            asks,
            backlog: Backlog::default(),
            election,
            session,
            saves,
            peers: running.view,
            visits,
            refusals,
            budget: Budget::default(),
            intake: Intake::default(),
            turns: Turns::of(LOOKING),
            is_back: watch::Sender::new(false),
            registry,
            hashing: Hashing::default(),
            tokens: Tokens::new(config.auth_token_ttl),
            renewals,
            leader_monitor,
        });
        member.spawn_tasks(renewed);
        Ok((member, running.task))
    }

    /// Starts the tasks that run for as long as the member exists.
    fn spawn_tasks(self: &Arc<Self>, renewed: mpsc::UnboundedReceiver<Renewed>) {
        tokio::spawn(come_back(Arc::downgrade(self)));
        tokio::spawn(keep_time(Arc::downgrade(self)));
        tokio::spawn(note_renewals(Arc::downgrade(self), renewed));
        tokio::spawn(keep_short(Arc::downgrade(self)));
        tokio::spawn(introduce(Arc::downgrade(self)));
        tokio::spawn(watch_membership(Arc::downgrade(self)));
    }

    /// Ends in good order: somebody else leads first, if somebody is there. What is left of leases
    /// is noted before.
    pub(crate) async fn leave(&self) {
        // Without a quorum it is not, and nobody takes the lead either.
        let _ = timeout_at(tokio::time::Instant::now() + NOTING, self.note_leases()).await;
        let _ = self.asks.send(Ask::Leave);
    }

    /// Looks at what all tasks share.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.shared.lock())
    }

    pub(crate) fn standing(&self) -> Standing {
        *self.shared.standing.borrow()
    }

    /// Whether this member leads.
    pub(crate) fn leads(&self) -> bool {
        self.standing().leader == Some(self.plan.me)
    }

    pub(crate) fn id(&self) -> u64 {
        self.plan.members[self.plan.me].id
    }

    /// How often something was saved, and how long that took.
    pub(crate) fn saves(&self) -> SaveCounts {
        self.saves.read()
    }

    /// What every answer begins with; of a revision.
    pub(crate) fn header(&self, revision: u64) -> Option<ResponseHeader> {
        Some(ResponseHeader {
            cluster_id: self.plan.cluster_id,
            member_id: self.id(),
            revision: signed(revision),
            raft_term: self.standing().term,
        })
    }

    /// The same, of now.
    pub(crate) fn header_now(&self) -> Option<ResponseHeader> {
        let revision = self.look(|state| state.store.revision());
        self.header(revision)
    }

    /// Has a command of the service itself committed, and says what came of it.
    pub(crate) async fn propose(&self, command: Command) -> Result<Outcome, Refusal> {
        self.propose_for(&Asker::Member, command, None, || Ok(())).await
    }

    /// The same for somebody, who may have it done when it is. What is to be done if they do not
    /// wait for it, and it was done, is done. The command is proposed only while `is_valid` holds,
    /// which may change while a leader is awaited.
    pub(crate) async fn propose_for(
        &self,
        asker: &Asker,
        command: Command,
        unheard: Option<Unheard>,
        is_valid: impl Fn() -> Result<(), Refusal>,
    ) -> Result<Outcome, Refusal> {
        let what = encoded(&What::Command(asker.clone(), command));
        if what.len() > self.plan.bounds.request_bytes {
            return Err(Refusal::TOO_LARGE);
        }
        let mut proposal = self.backlog.admit(what.len(), unheard)?;
        let what: Arc<[u8]> = what.into();
        let (mut standing, deadline) = (self.shared.standing.subscribe(), self.deadline());
        loop {
            self.led(&mut standing, deadline).await?;
            is_valid()?;
            let (reply, answer) = oneshot::channel();
            let ask = Ask::Do { what: what.clone(), reply };
            self.asks.send(ask).map_err(|_| Refusal::STOPPED)?;
            match proposal.told(answer, deadline).await? {
                Ok(outcome) => return Ok(outcome),
                Err(undone) => may_try_again(undone, &mut standing, deadline).await?,
            }
        }
    }

    /// Tells whoever waits behind a key, at whichever member, that it is claimed no longer.
    pub(crate) fn release(&self, released: Released) {
        // Of what nobody waits for others need not hear.
        if !self.look(|state| state.release(&released)) {
            return;
        }
        // Who hears of it late hears of the deletion as well.
        let whom = self.peers.near(FEW_HELD);
        // Where the log has ended nobody is served any more.
        let _ = self.asks.send(Ask::Tell { whom, released });
    }

    /// Waits until this member has taken all that anybody was told of before, and a majority has
    /// confirmed who leads.
    pub(crate) async fn confirm(&self) -> Result<(), Refusal> {
        self.know(|reply| Ask::Confirm { reply }).await.map(drop)
    }

    /// Checks that the store can be read and that the log has not ended.
    pub(crate) fn is_running(&self) -> Result<(), Refusal> {
        self.look(|state| state.store.revision());
        if self.asks.is_closed() { Err(Refusal::STOPPED) } else { Ok(()) }
    }

    /// Waits until this member has come back to what it knew in its last life, and may say what it
    /// knows: of entries that are stored only a leader says that they are committed.
    pub(crate) async fn is_back(&self) -> Result<(), Refusal> {
        let mut back = self.is_back.subscribe();
        match timeout_at(self.deadline(), back.wait_for(|back| *back)).await {
            Ok(back) => back.map(drop).map_err(|_| Refusal::STOPPED),
            Err(_) => Err(Refusal::NO_LEADER),
        }
    }

    /// Returns true if this member has taken all that was committed when it started.
    pub(crate) fn has_caught_up(&self) -> bool {
        *self.is_back.borrow()
    }

    /// Has the log do something that nobody waits for.
    pub(crate) fn tell(&self, ask: Ask) {
        // Where the log has ended there is nothing to do.
        let _ = self.asks.send(ask);
    }

    /// How many seconds are left of a lease, as the leader counts.
    pub(crate) async fn left(&self, lease: LeaseId) -> Result<Option<u64>, Refusal> {
        match self.know(|reply| Ask::Run { errand: Errand::Left(lease), reply }).await? {
            Return::Left(left) => Ok(left),
            _ => Err(Refusal::LEADER_FAILED),
        }
    }

    /// Returns all leases, the one that expires first before the others, as the leader counts.
    pub(crate) async fn leases(&self) -> Result<Vec<LeaseId>, Refusal> {
        match self.know(|reply| Ask::Run { errand: Errand::Leases, reply }).await? {
            Return::Leases(leases) => Ok(leases),
            _ => Err(Refusal::LEADER_FAILED),
        }
    }

    /// What the leader says to something that changes nothing.
    async fn know(&self, ask: impl Fn(oneshot::Sender<Return>) -> Ask) -> Result<Return, Refusal> {
        let (mut standing, deadline) = (self.shared.standing.subscribe(), self.deadline());
        loop {
            self.led(&mut standing, deadline).await?;
            let (reply, answer) = oneshot::channel();
            match self.ask(ask(reply), answer, deadline).await? {
                // It changes nothing, so it may be asked again whatever became of it.
                Return::Undone(_) => {
                    let declined = Undone::Declined(Reason::NotLeading);
                    may_try_again(declined, &mut standing, deadline).await?;
                }
                known => return Ok(known),
            }
        }
    }

    /// Has the log kept by others.
    pub(crate) async fn change(&self, change: Change) -> Result<(), Refusal> {
        let (mut standing, deadline) = (self.shared.standing.subscribe(), self.deadline());
        loop {
            self.led(&mut standing, deadline).await?;
            let (reply, answer) = oneshot::channel();
            let ask = Ask::Run { errand: Errand::Change(change), reply };
            match self.ask(ask, answer, deadline).await? {
                Return::Undone(Undone::Declined(Reason::Changing)) => {
                    return Err(Refusal::CHANGING);
                }
                Return::Undone(Undone::Declined(Reason::NotCaughtUp)) => {
                    return Err(Refusal::NOT_CAUGHT_UP);
                }
                Return::Undone(Undone::Declined(Reason::NoGroup)) => {
                    return Err(Refusal::NOBODY_LEFT);
                }
                Return::Undone(undone) => {
                    may_try_again(undone, &mut standing, deadline).await?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Gives the lead to another member.
    pub(crate) async fn transfer(&self, to: usize) -> Result<(), Refusal> {
        if !self.leads() {
            return Err(Refusal::LEADS_NOT);
        }
        if to == self.plan.me {
            return Ok(());
        }
        let _ = timeout_at(tokio::time::Instant::now() + NOTING, self.note_leases()).await;
        let (reply, answer) = oneshot::channel();
        match self.ask(Ask::Transfer { to, reply }, answer, self.deadline()).await? {
            Return::Undone(_) => Err(Refusal::NO_TRANSFEREE),
            _ => Ok(()),
        }
    }

    /// Renews a lease: says for how many seconds, or nothing if there is none.
    pub(crate) async fn renew(&self, lease: LeaseId) -> Result<Option<u64>, Refusal> {
        let deadline = self.deadline();
        while tokio::time::Instant::now() < deadline {
            let renew = |reply| Ask::Run { errand: Errand::Renew(lease), reply };
            let Return::Renewed { term, renewal } = self.know(renew).await? else {
                return Err(Refusal::LEADER_FAILED);
            };
            match renewal {
                Renewal::Renewed(ttl) => return Ok(Some(ttl)),
                Renewal::Gone => {
                    // So that this member shows no key any more that has ended with the lease. The
                    // client that has revoked it learns of that first, as its answer is due before.
                    self.confirm().await?;
                    return Ok(None);
                }
                Renewal::Noting(ttl) => {
                    if self.renewals.note(lease, ttl, term, deadline).await? {
                        return Ok(Some(ttl));
                    }
                }
                Renewal::Ending | Renewal::Deposed => sleep(Duration::from_millis(5)).await,
            }
        }
        Err(Refusal::TIMED_OUT)
    }

    fn deadline(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + PATIENCE + 2 * self.election
    }

    async fn ask<T>(
        &self,
        ask: Ask,
        answer: oneshot::Receiver<T>,
        deadline: tokio::time::Instant,
    ) -> Result<T, Refusal> {
        self.asks.send(ask).map_err(|_| Refusal::STOPPED)?;
        match timeout_at(deadline, answer).await {
            Ok(answer) => answer.map_err(|_| Refusal::STOPPED),
            Err(_) => Err(Refusal::TIMED_OUT),
        }
    }

    /// A number that no lease of this cluster has, as good as certainly, and that clients take for
    /// a positive one.
    pub(crate) fn new_lease(&self) -> LeaseId {
        (fastrand::u64(..) ^ self.session << 40) & (i64::MAX as u64) | 1
    }
}

/// Whose the data are.
pub(crate) fn owner(config: &Config, plan: &Plan) -> Owner {
    let cluster = format!("{} {:016x}", config.initial_cluster_token, plan.cluster_id);
    let group_size = ProcessId::at(plan.members.len()).0;
    Owner { cluster, process: ProcessId::at(plan.me), group_size }
}

/// Opens the data directory. Fails if the member was removed, or evicted for another reason.
fn opened(config: &Config, plan: &Plan, owner: &Owner) -> Result<(Store, Registry), ServeError> {
    let mut store = Store::open(&plan.directory, owner, SCHEMA)?;
    let is_new = config.initial_cluster_state == ClusterState::Existing;
    let is_newcomer = is_new && store.state().is_none();
    store = store.with_registry(!is_newcomer)?;
    let registry = store.registry().expect("it was given one");
    if let Some(why) = registry.eviction() {
        return Err(Eviction::Noted(why).into());
    }
    if is_newcomer {
        store = store.in_session(session_of_newcomer())?;
    }
    Ok((store, registry))
}

/// Initial voters, used until the log contains a membership entry; excludes a joining member.
fn first_members(is_newcomer: bool, me: ProcessId, size: u32) -> Members {
    let mut voters = ProcessSet::first(size);
    if is_newcomer {
        voters.remove(me);
    }
    Members::of(voters)
}

/// The session with which a member begins that takes the place of another: no boot of that has the
/// same, or commands in the log would be taken for its own. Peers do not compare it with those of
/// its predecessor, once they know that this was removed.
fn session_of_newcomer() -> u64 {
    // Milliseconds since the beginning of 2026: a process does not start so often.
    let begun = Duration::from_secs(1_767_225_600);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(begun).as_millis()).unwrap_or(u64::MAX)
}

fn log_config(config: &Config, me: ProcessId, size: u32, members: Members) -> relayed_log::Config {
    let Config { heartbeat_interval, election_timeout, snapshot_count, .. } = *config;
    // Whoever is alone need not wait for anybody.
    let election = match size {
        1 => Delay::between_units(1, 2),
        // Of two who ask at once the better one goes on, so that little room is enough.
        _ => Delay::between_units(election_timeout, election_timeout * 3 / 2),
    };
    relayed_log::Config::around(raft_log::Config {
        election,
        heartbeat: Delay::units(heartbeat_interval),
        backlog: BACKLOG,
        batch: BATCH,
        snapshot_after: NonZeroU64::new(snapshot_count),
        trailing: config.snapshot_catchup_entries,
        // Members take turns: a majority of them has nothing else to do.
        snapshot_sooner: snapshot_count / u64::from(size) * u64::from(me.0),
        members: Some(members),
        variants: Variants::none()
            .with(Switch::Announcing)
            .with(Switch::Ahead)
            .with(Switch::Noticing)
            .with(Switch::Together)
            .with(Switch::Heartbeats),
        ..raft_log::Config::plain(size, 1)
    })
}

/// Has a snapshot stand for the head of the log, whenever one is wanted. What it is made
/// of is taken while nobody else has the store, and is written while commands go on.
async fn keep_short(member: Weak<Member>) {
    let Some(shared) = member.upgrade().map(|member| member.shared.clone()) else { return };
    loop {
        shared.compaction.notified().await;
        let Some(member) = member.upgrade() else { return };
        let (index, urls, store) =
            member.look(|state| (state.taken, state.urls.clone(), state.store.snapshot()));
        let (done, written) = oneshot::channel();
        let write = move || {
            set_back();
            // Nobody waits for it any more where the member has ended.
            let _ = done.send(image::write(&urls, &store));
        };
        // Where it is not made, one is wanted again after as many entries.
        if let Err(why) = thread::Builder::new().name("tenure-snapshot".into()).spawn(write) {
            warn!("a snapshot up to entry {index} is not made, as no thread starts: {why}");
        }
        if let Ok(state) = written.await {
            let _ = member.asks.send(Ask::Compact { index, state });
        }
    }
}

/// Says when this member has come back to what it knew in its last life.
async fn come_back(member: Weak<Member>) {
    loop {
        let Some(member) = member.upgrade() else { return };
        if member.confirm().await.is_ok() {
            member.is_back.send_replace(true);
            return;
        }
        drop(member);
        sleep(Duration::from_millis(100)).await;
    }
}

/// Has all members know where clients reach this one.
async fn introduce(member: Weak<Member>) {
    loop {
        let Some(member) = member.upgrade() else { return };
        let urls = member.plan.client_urls.clone();
        let me = ProcessId::at(member.plan.me);
        let is_known = member.look(|state| {
            let is_member = state.members.everybody().contains(me);
            !is_member || state.urls.get(&me.0) == Some(&urls)
        });
        if !is_known && member.somebody_leads(member.deadline()).await.is_ok() {
            let (reply, answer) = oneshot::channel();
            // It is seen in a moment whether that worked.
            let _ = member.ask(Ask::Introduce { urls, reply }, answer, member.deadline()).await;
        }
        drop(member);
        sleep(Duration::from_millis(500)).await;
    }
}
