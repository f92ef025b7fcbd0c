//! A member of a cluster: its log, its store, and the operations that the gRPC services call.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_algorithms::agreement::ForwardingLog;
use tenure_core::service::log::{DeclineReason, Members};
use tenure_core::{ProcessId, ProcessSet};
use tenure_etcd::etcdserverpb::ResponseHeader;
use tenure_runtime::store::{
    MembershipRecord, OpenError, SaveError, SaveMetrics, StateOwner, UnreadableReason,
};
use tenure_runtime::transport::{Listen, MeshSettings, MeshStatus, RejectionReason};
use tenure_runtime::{NodeComponents, NodeFailure, NodeStartError, ProcessNames, start_node};
use tenure_store::{ApplyOutcome, Command, LeaseId, Principal};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout_at};
use tracing::Instrument;

use crate::auth::hashing_queue::PasswordHashingQueue;
use crate::auth::token_uses::TokenUses;
use crate::blocking::ConcurrencyLimit;
use crate::config::{Config, ConfigError, UrlError, ValidatedConfig};
use crate::log::application::{LogApplication, LogTaskRequest};
use crate::log::leader::pause_if_retryable;
use crate::log::leader_monitor::LeaderMonitor;
use crate::log::lease_commands::LeaseCheckpointQueue;
use crate::log::peer_contacts::PeerContacts;
use crate::log::proposal::{AbandonmentHandler, AdmittedProposal, ProposalLimit};
use crate::log::request::{
    LeaderRequest, LogCommand, LogTaskResponse, MembershipChange, ProposeError, ReleaseNotice,
    ReleasedLock, RenewalOutcome, encode,
};
use crate::log::state::{LeaderStatus, SharedState, StoreAndWaiters};
use crate::member::directory::open_store;
use crate::member::eviction::{EvictionReason, rejection_remedy};
use crate::member::log_config::log_config;
use crate::metrics::latency_histograms::LatencyHistograms;
use crate::net::connections::ConnectionLimiter;
use crate::net::incomplete_message_budget::IncompleteMessageBudget;
use crate::net::peers::{PeerKeys, transport_limits};
use crate::net::response_budget::ResponseBudget;
use crate::rpc::convert::signed;
use crate::rpc::error::{RejectionCounters, RpcError};
use crate::spans;

pub(crate) mod directory;
pub(crate) mod eviction;
pub(crate) mod log_config;
mod tasks;

/// Upper bound on concurrent scans of many keys. Each scan stores a list of all keys that it reads.
const MAX_CONCURRENT_SCANS: usize = 4;

/// Time limit of a request while a leader is known. The total limit also includes the time for up
/// to two elections.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause before the member asks the leader again to renew a lease, because the expiry of the lease
/// is proposed or the leader has changed.
const RENEWAL_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A member is notified of a released lock only if at most this number of messages to this member
/// are queued. Any other member learns of the release from the log.
const MAX_QUEUED_FOR_RELEASE: usize = 1000;

/// Name and version of the format in which the data directory stores the state of the log.
pub(crate) const LOG_STATE_SCHEMA: &str = "raft-log, entries of tenure-server 5";

/// Failure of a member, at its start or later.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The data directory belongs to another member, or to another cluster.
    #[error("the saved state {path} belongs to {found}, but this is {expected}; {remedy}")]
    WrongOwner {
        /// Path of the file that names the owner of the directory.
        path: PathBuf,
        /// Owner according to the file: a member and its cluster.
        found: String,
        /// Description of this member, and of the cluster in its configuration.
        expected: String,
        /// Options that the operator should correct.
        remedy: String,
    },
    /// A file of the data directory is damaged. The member does not change the file.
    #[error(
        "the saved state {path} is damaged: {reason}; keep a copy of the directory, and {remedy}"
    )]
    Damaged {
        /// Path of the damaged file.
        path: PathBuf,
        /// Damage that was found in the file.
        reason: UnreadableReason,
        /// Commands that replace this member or restore a backup.
        remedy: String,
    },
    /// The data directory cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The clock shows a time before 2026. A member that replaces another one derives its session
    /// number from the clock.
    #[error(
        "a member that replaces another one needs a correct clock, and the clock of this machine \
         shows a time before 2026; set the clock, and start the member again"
    )]
    ClockBehind,
    /// The log did not start, for example because the port for the other members is in use.
    #[error(transparent)]
    Start(#[from] NodeStartError),
    /// The log failed. For example, its state could not be saved.
    #[error(transparent)]
    Failure(#[from] NodeFailure),
    /// A peer rejects this member permanently, until an operator acts.
    #[error(
        "member {peer} rejects this member permanently: {}; {}",
        .reason.eviction_reason(), rejection_remedy(*.reason)
    )]
    Refused {
        /// Name of the peer.
        peer: String,
        /// Reason for the rejection.
        reason: RejectionReason,
    },
    /// This member must not participate in its cluster any more.
    #[error(transparent)]
    Evicted(#[from] EvictionReason),
    /// A listener for clients or metrics cannot be bound.
    #[error("cannot serve clients at {address}: {source}")]
    Listen {
        /// Address of the listener.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ServeError {
    /// Returns true if the configuration is the cause of the error. Returns false if the
    /// environment is the cause, such as a name server that does not respond yet.
    pub fn is_misconfiguration(&self) -> bool {
        match self {
            ServeError::Config(ConfigError::Url { why: UrlError::Unresolved { .. }, .. }) => false,
            ServeError::Config(_) | ServeError::WrongOwner { .. } => true,
            _ => false,
        }
    }

    /// Returns true if the cluster excludes this member until an operator acts.
    pub fn is_eviction(&self) -> bool {
        matches!(self, ServeError::Refused { .. } | ServeError::Evicted(_))
    }
}

pub(crate) type LogTask = JoinHandle<Result<(), NodeFailure>>;

/// Handle to a running member.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) config: ValidatedConfig,
    pub(crate) shared: Arc<SharedState>,
    requests: mpsc::UnboundedSender<LogTaskRequest>,
    /// Limit of the commands that the requests of clients cause.
    proposal_limit: ProposalLimit,
    /// Limit of the commands that the member needs for its own work. Clients cannot use up this
    /// limit, so leases are also renewed and expire while clients have many open requests.
    own_proposal_limit: ProposalLimit,
    /// Time that a request allows for one election: twice the configured election timeout. A
    /// request waits for at most two elections.
    election_timeout: Duration,
    session: u64,
    pub(crate) save_metrics: SaveMetrics,
    pub(crate) latencies: LatencyHistograms,
    pub(crate) mesh_handle: MeshStatus,
    pub(crate) peer_keys: PeerKeys,
    pub(crate) connections: ConnectionLimiter,
    pub(crate) metrics_connections: ConnectionLimiter,
    pub(crate) rejections: RejectionCounters,
    pub(crate) response_budget: ResponseBudget,
    pub(crate) incomplete_message_budget: IncompleteMessageBudget,
    pub(crate) scan_limit: ConcurrencyLimit,
    /// True once this member has applied every entry that was known as committed at its start.
    is_recovered: watch::Sender<bool>,
    /// Membership record in the data directory. It also states whether this member has joined.
    pub(crate) registry: MembershipRecord,
    pub(crate) password_hasher: PasswordHashingQueue,
    pub(crate) token_uses: TokenUses,
    checkpoint_queue: LeaseCheckpointQueue,
    pub(crate) leader_monitor: LeaderMonitor,
}

impl Member {
    /// Opens the data directory, and starts the log and the background tasks. The returned task
    /// ends when the log ends.
    pub(crate) fn start(
        config: &Config,
        validated: ValidatedConfig,
    ) -> Result<(Arc<Member>, LogTask), ServeError> {
        let owner = state_owner(config, &validated);
        let StateOwner { cluster, process: me, group_size: size } = owner.clone();
        let (store, registry) = open_store(config, &validated, &owner)?;
        let members = initial_members(!registry.has_joined(), me, size);
        let (session, saves) = (store.session(), store.save_metrics());
        let shared = Arc::new(SharedState::new(members.clone()));
        // A single member has no peers, so it listens on a loopback port that the system chooses.
        let listen = if size == 1 { ([127, 0, 0, 1], 0).into() } else { validated.peer_address };
        let peer_keys = PeerKeys::read(config, me, size)?;
        let names = ProcessNames::new(validated.members.iter().map(|it| it.name.clone()));
        let (state, known) = (shared.clone(), Some(registry.clone()));
        let application = LogApplication::new(me, session, state, known, names.clone());
        let transport = MeshSettings {
            cluster,
            me,
            session,
            listen: Listen::Address(listen),
            addresses: validated.members.iter().map(|it| it.dial_address.clone()).collect(),
            names: names.clone(),
            authentication: peer_keys.authentication_mode(),
            limits: transport_limits(),
        };
        let (requests, received) = mpsc::unbounded_channel();
        let running = start_node::<ForwardingLog, LogApplication>(NodeComponents::new(
            log_config(config, me, size, members).in_session(session),
            transport,
            store,
            application,
            received,
        ))?;
        let election_timeout = Duration::from_millis(2 * config.election_timeout);
        let contacts = PeerContacts::new(running.mesh_handle.clone(), election_timeout / 2);
        shared.contacts.set(contacts).expect("the member starts once");
        let (checkpoint_queue, pending_checkpoints) = LeaseCheckpointQueue::new();
        let leader_monitor =
            LeaderMonitor::start(shared.leader_status.subscribe(), election_timeout / 2);
        let member = Arc::new(Member {
            config: validated,
            shared,
            requests,
            proposal_limit: ProposalLimit::for_clients(),
            own_proposal_limit: ProposalLimit::for_own_commands(),
            election_timeout,
            session,
            save_metrics: saves,
            latencies: LatencyHistograms::default(),
            mesh_handle: running.mesh_handle,
            peer_keys,
            connections: ConnectionLimiter::for_clients(),
            metrics_connections: ConnectionLimiter::for_metrics(),
            rejections: RejectionCounters::default(),
            response_budget: ResponseBudget::default(),
            incomplete_message_budget: IncompleteMessageBudget::default(),
            scan_limit: ConcurrencyLimit::new(MAX_CONCURRENT_SCANS),
            is_recovered: watch::Sender::new(false),
            registry,
            password_hasher: PasswordHashingQueue::default(),
            token_uses: TokenUses::new(config.auth_token_ttl),
            checkpoint_queue,
            leader_monitor,
        });
        tasks::spawn(&member, pending_checkpoints);
        Ok((member, running.task))
    }

    /// Records the remaining times of the leases. Then asks the log to hand over leadership and
    /// stop.
    pub(crate) async fn request_shutdown(&self) {
        // Without a majority the checkpoint fails. In that case no other member can lead either.
        self.checkpoint_leases_for_handover().await;
        let _ = self.requests.send(LogTaskRequest::Shutdown);
    }

    /// Calls `f` with the state, and holds the lock of the state during the call.
    pub(crate) fn with_state<T>(&self, f: impl FnOnce(&mut StoreAndWaiters) -> T) -> T {
        f(&mut self.shared.lock())
    }

    pub(crate) fn leader_status(&self) -> LeaderStatus {
        *self.shared.leader_status.borrow()
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.leader_status().leader == Some(self.config.me)
    }

    pub(crate) fn id(&self) -> u64 {
        self.config.members[self.config.me].id
    }

    /// Returns a response header with `revision` and the current term. The result is always `Some`,
    /// because the header is an optional field of the messages.
    pub(crate) fn response_header(&self, revision: u64) -> Option<ResponseHeader> {
        Some(ResponseHeader {
            cluster_id: self.config.cluster_id,
            member_id: self.id(),
            revision: signed(revision),
            raft_term: self.leader_status().term,
        })
    }

    /// Returns a response header with the current revision and term. Never `None`.
    pub(crate) fn current_response_header(&self) -> Option<ResponseHeader> {
        let revision = self.with_state(|state| state.store.revision());
        self.response_header(revision)
    }

    /// Proposes a command that the member needs for its own work, such as the expiry of leases.
    /// Returns its outcome. The limits of clients do not apply to the command.
    pub(crate) async fn propose(&self, command: Command) -> Result<ApplyOutcome, RpcError> {
        let command = encode(&LogCommand::Store(Principal::Member, command));
        let proposal = self.own_proposal_limit.admit(command.len(), None)?;
        self.propose_admitted(proposal, command, || Ok(())).await
    }

    /// Proposes a command that a client causes, and returns its outcome. The command may have at
    /// most the configured size, unless `principal` is the member itself.
    ///
    /// `on_abandoned` receives the outcome if the caller drops this future first. `check` runs
    /// before each attempt, because the client may lose its rights while the member waits for a
    /// leader.
    pub(crate) async fn propose_for(
        &self,
        principal: &Principal,
        command: Command,
        on_abandoned: Option<AbandonmentHandler>,
        check: impl Fn() -> Result<(), RpcError>,
    ) -> Result<ApplyOutcome, RpcError> {
        let command = encode(&LogCommand::Store(principal.clone(), command));
        if *principal != Principal::Member && command.len() > self.config.limits.max_request_bytes {
            return Err(RpcError::REQUEST_TOO_LARGE);
        }
        let proposal = self.proposal_limit.admit(command.len(), on_abandoned)?;
        self.propose_admitted(proposal, command, check).await
    }

    async fn propose_admitted(
        &self,
        mut proposal: AdmittedProposal,
        command: Vec<u8>,
        check: impl Fn() -> Result<(), RpcError>,
    ) -> Result<ApplyOutcome, RpcError> {
        let command: Arc<[u8]> = command.into();
        let mut leader_status = self.shared.leader_status.subscribe();
        let (deadline, started) = (self.request_deadline(), Instant::now());
        let span = spans::propose_span(command.len());
        let proposed = async {
            loop {
                self.wait_for_reachable_leader(&mut leader_status, deadline).await?;
                check()?;
                let (reply, outcome) = oneshot::channel();
                let (command, span) = (command.clone(), span.clone());
                let request = LogTaskRequest::Propose { command, reply, span };
                self.requests.send(request).map_err(|_| RpcError::STOPPED)?;
                match proposal.wait_for_outcome(outcome, deadline).await? {
                    Ok(outcome) => return Ok::<_, RpcError>(outcome),
                    Err(error) => pause_if_retryable(error, &mut leader_status, deadline).await?,
                }
            }
        };
        let outcome = proposed.instrument(span.clone()).await?;
        self.latencies.commits.record(started.elapsed());
        Ok(outcome)
    }

    /// Notifies the clients that wait for this lock, at this member and at the other members that
    /// respond.
    pub(crate) fn notify_waiters_of_release(&self, released: ReleasedLock) {
        let announced = self.with_state(|state| {
            let notice = ReleaseNotice { released, committed: state.last_committed() };
            state.announce_release(&notice).then_some(notice)
        });
        let Some(notice) = announced else { return };
        // A member with a long queue of messages is not notified. It learns of the release from the
        // log.
        let to = self.mesh_handle.peers_with_short_queues(MAX_QUEUED_FOR_RELEASE);
        self.send_to_log(LogTaskRequest::NotifyRelease { to, notice });
    }

    /// Waits until a majority has confirmed the leader, and this member has applied every entry
    /// that was known as committed at the time of the call. A read after this wait is linearizable.
    pub(crate) async fn wait_linearizable(&self) -> Result<(), RpcError> {
        self.read_from_leader(|reply| LogTaskRequest::ReadIndex { reply }).await.map(drop)
    }

    /// Checks that the store can be read and that the log is running.
    pub(crate) fn check_running(&self) -> Result<(), RpcError> {
        self.with_state(|state| state.store.revision());
        if self.requests.is_closed() { Err(RpcError::STOPPED) } else { Ok(()) }
    }

    /// Waits until this member has applied every entry that was known as committed when the member
    /// started. Fails with [`RpcError::NO_LEADER`] if this takes longer than a request may take.
    ///
    /// Until then, this member must not serve any reads, because its store lacks committed entries.
    /// The log contains them, but only a leader knows which entries of a log are committed.
    pub(crate) async fn wait_recovered(&self) -> Result<(), RpcError> {
        let mut is_recovered = self.is_recovered.subscribe();
        let recovered = is_recovered.wait_for(|is_recovered| *is_recovered);
        match timeout_at(self.request_deadline(), recovered).await {
            Ok(recovered) => recovered.map(drop).map_err(|_| RpcError::STOPPED),
            Err(_) => Err(RpcError::NO_LEADER),
        }
    }

    pub(crate) fn has_recovered(&self) -> bool {
        *self.is_recovered.borrow()
    }

    /// Sends a request to the log without waiting for a response. Does nothing if the log has
    /// ended.
    pub(crate) fn send_to_log(&self, request: LogTaskRequest) {
        let _ = self.requests.send(request);
    }

    /// Asks the leader for the remaining time of a lease, in whole seconds, rounded down. Returns
    /// `None` if the lease does not exist.
    pub(crate) async fn lease_time_left(&self, lease: LeaseId) -> Result<Option<u64>, RpcError> {
        match self.ask_leader(LeaderRequest::TimeToLive(lease)).await? {
            LogTaskResponse::TimeToLive(left) => Ok(left),
            _ => Err(RpcError::LEADER_FAILED),
        }
    }

    /// Asks the leader for all leases, in the order of their expiry.
    pub(crate) async fn list_leases(&self) -> Result<Vec<LeaseId>, RpcError> {
        match self.ask_leader(LeaderRequest::Leases).await? {
            LogTaskResponse::Leases(leases) => Ok(leases),
            _ => Err(RpcError::LEADER_FAILED),
        }
    }

    async fn ask_leader(&self, request: LeaderRequest) -> Result<LogTaskResponse, RpcError> {
        self.read_from_leader(|reply| LogTaskRequest::AskLeader { request: request.clone(), reply })
            .await
    }

    /// Sends a request to the leader, and returns the response. Retries after any failure until the
    /// deadline of the request. The request must be one that may be executed twice, such as a read
    /// or a renewal.
    async fn read_from_leader(
        &self,
        request: impl Fn(oneshot::Sender<LogTaskResponse>) -> LogTaskRequest,
    ) -> Result<LogTaskResponse, RpcError> {
        self.repeat(request, |_| Ok(ProposeError::Declined(DeclineReason::NotLeading))).await
    }

    pub(crate) async fn change_members(&self, change: MembershipChange) -> Result<(), RpcError> {
        let request = |reply| {
            let request = LeaderRequest::ChangeMembers(change);
            LogTaskRequest::AskLeader { request, reply }
        };
        let failed = |error| match error {
            ProposeError::Declined(DeclineReason::Changing) => Err(RpcError::MEMBERSHIP_CHANGING),
            ProposeError::Declined(DeclineReason::NotCaughtUp) => Err(RpcError::LEARNER_NOT_READY),
            ProposeError::Declined(DeclineReason::NoGroup) => Err(RpcError::NO_VOTER_LEFT),
            error => Ok(error),
        };
        match self.repeat(request, failed).await? {
            LogTaskResponse::Unhealthy => Err(RpcError::UNHEALTHY_CLUSTER),
            _ => Ok(()),
        }
    }

    /// Sends a request to the log, and repeats it after failures. Returns the response of the first
    /// successful attempt.
    ///
    /// After a failed attempt, this method calls `failed`. If `failed` returns an [`RpcError`], the
    /// method returns this error. If not, [`pause_if_retryable`] decides whether the method sends
    /// the request again.
    async fn repeat(
        &self,
        request: impl Fn(oneshot::Sender<LogTaskResponse>) -> LogTaskRequest,
        failed: impl Fn(ProposeError) -> Result<ProposeError, RpcError>,
    ) -> Result<LogTaskResponse, RpcError> {
        let mut leader_status = self.shared.leader_status.subscribe();
        let deadline = self.request_deadline();
        loop {
            self.wait_for_reachable_leader(&mut leader_status, deadline).await?;
            let (reply, response) = oneshot::channel();
            match self.request(request(reply), response, deadline).await? {
                LogTaskResponse::Failed(error) => {
                    pause_if_retryable(failed(error)?, &mut leader_status, deadline).await?;
                }
                response => return Ok(response),
            }
        }
    }

    /// Transfers leadership to the member whose process has the index `to_process`. Does nothing if
    /// `to_process` is this member. Fails if this member does not lead, or if the other member does
    /// not take over.
    pub(crate) async fn transfer_leadership(&self, to_process: usize) -> Result<(), RpcError> {
        if !self.is_leader() {
            return Err(RpcError::MEMBER_NOT_LEADER);
        }
        if to_process == self.config.me {
            return Ok(());
        }
        self.checkpoint_leases_for_handover().await;
        let (reply, response) = oneshot::channel();
        let transfer = LogTaskRequest::Transfer { to: to_process, reply };
        match self.request(transfer, response, self.request_deadline()).await? {
            LogTaskResponse::Failed(_) => Err(RpcError::BAD_TRANSFEREE),
            _ => Ok(()),
        }
    }

    /// Renews a lease, and returns its TTL in seconds. Returns `None` if the lease does not exist
    /// any more.
    pub(crate) async fn renew_lease(&self, lease: LeaseId) -> Result<Option<u64>, RpcError> {
        let started = Instant::now();
        let renewed = self.try_renew_lease(lease).await;
        if let Ok(Some(_)) = renewed {
            self.latencies.renewals.record(started.elapsed());
        }
        renewed
    }

    async fn try_renew_lease(&self, lease: LeaseId) -> Result<Option<u64>, RpcError> {
        let deadline = self.request_deadline();
        while tokio::time::Instant::now() < deadline {
            let response = self.ask_leader(LeaderRequest::Renew(lease)).await?;
            let LogTaskResponse::Renewed { term, renewal } = response else {
                return Err(RpcError::LEADER_FAILED);
            };
            match renewal {
                RenewalOutcome::Renewed(ttl) => return Ok(Some(ttl)),
                RenewalOutcome::Gone => {
                    // Keys of the lease must no longer be visible after the response. So the member
                    // waits until it has applied the entry that ended the lease.
                    self.wait_linearizable().await?;
                    return Ok(None);
                }
                RenewalOutcome::NeedsCheckpoint(ttl) => {
                    if self.checkpoint_queue.checkpoint_full_ttl(lease, ttl, term, deadline).await?
                    {
                        return Ok(Some(ttl));
                    }
                }
                RenewalOutcome::Expiring | RenewalOutcome::Deposed => {
                    sleep(RENEWAL_RETRY_INTERVAL).await
                }
            }
        }
        Err(RpcError::TIMED_OUT)
    }

    fn request_deadline(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + REQUEST_TIMEOUT + 2 * self.election_timeout
    }

    async fn request<T>(
        &self,
        request: LogTaskRequest,
        response: oneshot::Receiver<T>,
        deadline: tokio::time::Instant,
    ) -> Result<T, RpcError> {
        self.requests.send(request).map_err(|_| RpcError::STOPPED)?;
        match timeout_at(deadline, response).await {
            Ok(response) => response.map_err(|_| RpcError::STOPPED),
            Err(_) => Err(RpcError::TIMED_OUT),
        }
    }

    /// Returns a random lease ID that is positive as a signed number. The ID may belong to an
    /// existing lease, but this is very unlikely.
    pub(crate) fn new_lease_id(&self) -> LeaseId {
        (fastrand::u64(..) ^ self.session << 40) & (i64::MAX as u64) | 1
    }
}

/// Returns the identity of this member. The data directory records this identity as its owner.
pub(crate) fn state_owner(config: &Config, validated: &ValidatedConfig) -> StateOwner {
    let cluster = format!("{} {:016x}", config.initial_cluster_token, validated.cluster_id);
    let group_size = ProcessId::from_index(validated.members.len()).0;
    StateOwner { cluster, process: ProcessId::from_index(validated.me), group_size }
}

/// Returns the initial members of the log. They apply until the log contains a membership entry. A
/// member that has not joined yet (`is_joining`) is not among them.
fn initial_members(is_joining: bool, me: ProcessId, size: u32) -> Members {
    let mut voters = ProcessSet::first_n(size);
    if is_joining {
        voters.remove(me);
    }
    Members::from_voters(voters)
}
