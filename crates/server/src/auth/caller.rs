//! Client of a call: its identity, its rights, and its requests to the log.

use std::future::pending;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;
use tenure_store::{
    AccessControl, ApplyOutcome, Command, CommandResult, Error, KeySpan, Principal, Store,
};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use crate::auth::secrets::{self, VerifiedToken};
use crate::log::proposal::AbandonmentHandler;
use crate::log::request::ReleasedLock;
use crate::member::Member;
use crate::rpc::error::RpcError;

/// Options of a call, which the client sends as metadata, and the address of the client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallOptions {
    /// True if the server must reject or end the call when this member knows no leader.
    pub(crate) requires_leader: bool,
    /// Time at which the client stops waiting for the response. `None`: the client waits without a
    /// limit.
    pub(crate) deadline: Option<Instant>,
    /// Address of the client, for log messages. `None` if the address is unknown, or if the member
    /// itself is the caller.
    pub(crate) client_address: Option<SocketAddr>,
}

/// Client of one call, with the member that serves the call. The member executes requests with the
/// rights of this client.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    member: Arc<Member>,
    identity: Identity,
    options: CallOptions,
    /// Number of requests of this call that the leader may have received and that have no outcome
    /// yet.
    undecided: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
enum Identity {
    /// Identity that is known when the call begins, and stays the same for the whole call.
    Known(Principal),
    /// User whom a token names. The member verifies the token again at each use, because the token
    /// may become invalid while a stream is open. For example, the password may change, the user
    /// may be deleted, or authentication may be disabled.
    Token {
        text: Arc<str>,
        /// Name of the user at the beginning of the call, for log messages. `None` if
        /// authentication was disabled then.
        user: Option<Arc<str>>,
    },
}

/// Guard that exists while a request has no outcome. Dropping the guard subtracts 1 from the number
/// of undecided requests of its [`Caller`].
#[derive(Debug)]
pub(crate) struct UndecidedRequestGuard(Arc<AtomicUsize>);

impl Drop for UndecidedRequestGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for Caller {
    type Target = Member;

    fn deref(&self) -> &Member {
        &self.member
    }
}

impl Caller {
    pub(crate) fn new(member: Arc<Member>, principal: Principal) -> Self {
        Caller::with_identity(member, Identity::Known(principal))
    }

    fn with_identity(member: Arc<Member>, identity: Identity) -> Self {
        Caller { member, identity, options: CallOptions::default(), undecided: Arc::default() }
    }

    /// Reads the token from the headers of a request, and returns the caller. A caller without a
    /// token is anonymous. Clients in Go send the header `token`. The server also accepts
    /// `authorization`, with or without `Bearer`. Fails as [`Caller::from_token`] does.
    pub(crate) fn from_headers(member: Arc<Member>, headers: &HeaderMap) -> Result<Self, RpcError> {
        let token = headers.get("token").or_else(|| headers.get("authorization"));
        let Some(token) = token else { return Ok(Caller::new(member, Principal::Anonymous)) };
        let token = token.to_str().unwrap_or_default();
        Caller::from_token(member, token.strip_prefix("Bearer ").unwrap_or(token))
    }

    /// Returns the caller that has this token. Fails if authentication is enabled and the token is
    /// invalid. A success is recorded as a use of the token.
    fn from_token(member: Arc<Member>, token: &str) -> Result<Self, RpcError> {
        let identity = Identity::Token { text: token.into(), user: None };
        let mut caller = Caller::with_identity(member, identity);
        let token =
            caller.with_state(|state| caller.verified_token(state.store.access_control()))?;
        if let Some(token) = token {
            caller.token_uses.check_and_use(&token, std::time::Instant::now())?;
            if let Identity::Token { user, .. } = &mut caller.identity {
                *user = Some(token.name.into());
            }
        }
        Ok(caller)
    }

    pub(crate) fn with_options(self, options: CallOptions) -> Self {
        Caller { options, ..self }
    }

    /// Verifies the signature of the caller's token and returns the token. Returns `None` if the
    /// caller has no token or authentication is disabled. Accepts an expired token.
    fn verified_token(&self, access: &AccessControl) -> Result<Option<VerifiedToken>, RpcError> {
        match &self.identity {
            Identity::Token { text, .. } if access.is_enabled() => {
                secrets::verify_token_signature(access, text).map(Some)
            }
            Identity::Token { .. } | Identity::Known(_) => Ok(None),
        }
    }

    /// Verifies the signature of the caller's token and returns the caller's identity. While
    /// authentication is disabled, a caller with a token is anonymous. Accepts an expired token.
    pub(crate) fn verified_principal(&self, access: &AccessControl) -> Result<Principal, RpcError> {
        let token = self.verified_token(access)?;
        Ok(match (token, &self.identity) {
            (Some(token), _) => Principal::User(token.name),
            (None, Identity::Known(principal)) => principal.clone(),
            (None, Identity::Token { .. }) => Principal::Anonymous,
        })
    }

    pub(crate) fn has_token(&self) -> bool {
        matches!(self.identity, Identity::Token { .. })
    }

    pub(crate) fn requires_leader(&self) -> bool {
        self.options.requires_leader
    }

    /// Resolves when this member has known no leader for the grace period of
    /// [`LeaderMonitor`](crate::log::leader_monitor::LeaderMonitor). Never resolves if the call
    /// does not require a leader.
    pub(crate) fn leader_lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let monitor = self.requires_leader().then(|| self.member.leader_monitor.clone());
        async move {
            match monitor {
                Some(monitor) => monitor.leader_lost().await,
                None => pending().await,
            }
        }
    }

    /// Resolves with an error when the server must end a stream: the call requires a leader and the
    /// leader is lost, or the deadline has passed.
    pub(crate) fn wait_for_stream_end_error(
        &self,
    ) -> impl Future<Output = RpcError> + Send + use<> {
        let (leader_lost, deadline) = (self.leader_lost(), self.options.deadline);
        async move {
            let deadline_passed = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = leader_lost => RpcError::NO_LEADER,
                () = deadline_passed => RpcError::DEADLINE_EXCEEDED,
            }
        }
    }

    /// Adds 1 to the number of undecided requests of this call. An undecided request may have
    /// reached the leader, and its outcome is unknown. Dropping the returned guard subtracts 1.
    pub(crate) fn track_undecided_request(&self) -> UndecidedRequestGuard {
        self.undecided.fetch_add(1, Ordering::Relaxed);
        UndecidedRequestGuard(self.undecided.clone())
    }

    /// Returns the error of a call whose deadline has passed.
    ///
    /// The error is [`RpcError::TIMED_OUT`] with the code `Unavailable` if a request of the call
    /// may still be executed, as at etcd. If the code were `DeadlineExceeded`, a client would think
    /// that it can safely repeat the call.
    pub(crate) fn deadline_error(&self) -> RpcError {
        match self.undecided.load(Ordering::Relaxed) {
            0 => RpcError::DEADLINE_EXCEEDED,
            _ => RpcError::TIMED_OUT,
        }
    }

    /// Proposes a command, and returns its outcome.
    ///
    /// An unauthenticated caller is rejected here, so that it cannot fill the log. A command that
    /// would exceed the quota of the store is rejected here, too. All other rights are checked when
    /// the entry is applied.
    pub(crate) async fn propose(&self, command: Command) -> Result<ApplyOutcome, RpcError> {
        self.propose_with(command, None).await
    }

    /// Proposes a command as [`Caller::propose`] does, and returns its outcome. If the caller stops
    /// waiting, `on_abandoned` receives the outcome instead.
    pub(crate) async fn propose_with_abandonment_handler(
        &self,
        command: Command,
        on_abandoned: impl FnOnce(ApplyOutcome) + Send + 'static,
    ) -> Result<ApplyOutcome, RpcError> {
        self.propose_with(command, Some(Box::new(on_abandoned))).await
    }

    async fn propose_with(
        &self,
        command: Command,
        on_abandoned: Option<AbandonmentHandler>,
    ) -> Result<ApplyOutcome, RpcError> {
        self.check_authenticated()?;
        self.ensure_store_has_room(&command).await?;
        let _undecided = self.track_undecided_request();
        let principal =
            self.with_state(|state| self.verified_principal(state.store.access_control()))?;
        self.member.propose_for(&principal, command, on_abandoned, || self.recheck_identity()).await
    }

    /// Proposes a command with the rights of the member, as a part of this call. Each attempt first
    /// checks the identity of the caller. If the caller stops waiting, `on_abandoned` receives the
    /// outcome instead.
    pub(crate) async fn propose_as_member(
        &self,
        command: Command,
        on_abandoned: impl FnOnce(ApplyOutcome) + Send + 'static,
    ) -> Result<ApplyOutcome, RpcError> {
        let _undecided = self.track_undecided_request();
        let on_abandoned: AbandonmentHandler = Box::new(on_abandoned);
        let check = || self.recheck_identity();
        self.member.propose_for(&Principal::Member, command, Some(on_abandoned), check).await
    }

    /// Returns the member that serves the call. Requests through this member are not limited by the
    /// rights of the caller.
    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    /// Notifies clients that wait for a released lock. Fails if the caller may not write the key
    /// under which the lock was held.
    pub(crate) fn notify_waiters_of_release(&self, released: ReleasedLock) -> Result<(), RpcError> {
        self.check_access(|access, principal| {
            access.authorize_write(principal, &KeySpan::single(released.key.clone()))
        })?;
        self.member.notify_waiters_of_release(released);
        Ok(())
    }

    /// Proposes a command. Returns the revision of the store after the command, and the result of
    /// the command. Fails if the proposal or the command fails.
    pub(crate) async fn execute(&self, command: Command) -> Result<(u64, CommandResult), RpcError> {
        let outcome = self.propose(command).await?;
        Ok((outcome.revision, outcome.result?))
    }

    /// Checks a right of the caller. The users and roles are those after the last log entry that
    /// this member has applied.
    pub(crate) fn check_access(
        &self,
        check: impl FnOnce(&AccessControl, &Principal) -> Result<(), Error>,
    ) -> Result<(), RpcError> {
        self.check_store_access(|store, principal| check(store.access_control(), principal))
    }

    pub(crate) fn check_store_access(
        &self,
        check: impl FnOnce(&Store, &Principal) -> Result<(), Error>,
    ) -> Result<(), RpcError> {
        self.with_state(|state| {
            let principal = self.verified_principal(state.store.access_control())?;
            Ok(check(&state.store, &principal)?)
        })
    }

    /// Calls `check` and then `read` while the state is locked. Both functions therefore see the
    /// same state.
    pub(crate) fn check_and_read<T>(
        &self,
        check: impl FnOnce(&AccessControl, &Principal) -> Result<(), Error>,
        read: impl FnOnce(&Store) -> Result<T, Error>,
    ) -> Result<T, RpcError> {
        self.with_state(|state| {
            let principal = self.verified_principal(state.store.access_control())?;
            check(state.store.access_control(), &principal)?;
            Ok(read(&state.store)?)
        })
    }

    /// Checks at the beginning of a request that the caller may be served. This is the case if
    /// authentication is disabled, if the caller is the member itself, or if the caller has a token
    /// that may be used now. A success is recorded as a use of the token.
    pub(crate) fn check_authenticated(&self) -> Result<(), RpcError> {
        let token = self.with_state(|state| {
            let access = state.store.access_control();
            access.authenticated_user(&self.verified_principal(access)?)?;
            self.verified_token(access)
        })?;
        token.map_or(Ok(()), |token| {
            self.token_uses.check_and_use(&token, std::time::Instant::now())
        })
    }

    /// Checks that the caller is an existing user or the member itself, if authentication is
    /// enabled. Verifies the signature of the caller's token, but does not check its expiry time.
    pub(crate) fn recheck_identity(&self) -> Result<(), RpcError> {
        self.check_access(|access, principal| access.authenticated_user(principal).map(drop))
    }

    /// Checks that the caller has the root role or is the member itself, if authentication is
    /// enabled.
    pub(crate) fn check_root(&self) -> Result<(), RpcError> {
        self.check_access(AccessControl::authorize_root)
    }

    /// Returns the name of the caller's user. Returns `None` if the caller is no user, if its token
    /// is invalid now, or if it has a token and authentication is disabled.
    pub(crate) fn current_user_name(&self) -> Option<String> {
        match self.with_state(|state| self.verified_principal(state.store.access_control())) {
            Ok(Principal::User(name)) => Some(name),
            Ok(Principal::Member | Principal::Anonymous) | Err(_) => None,
        }
    }

    /// Counts a rejected request of an open stream, and logs it if it was denied, as for a rejected
    /// call. `path` is the path of the call. Returns the status with this error.
    pub(crate) fn record_rejection(&self, path: &str, error: &RpcError) -> Status {
        let status = Status::from(error.clone());
        self.rejections.record(&status, self.client_address(), self.initial_user_name(), path);
        status
    }

    pub(crate) const fn client_address(&self) -> Option<SocketAddr> {
        self.options.client_address
    }

    /// Returns the name of the caller's user at the beginning of the call, for log messages.
    pub(crate) fn initial_user_name(&self) -> Option<&str> {
        match &self.identity {
            Identity::Known(Principal::User(name)) => Some(name),
            Identity::Token { user, .. } => user.as_deref(),
            Identity::Known(Principal::Member | Principal::Anonymous) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use tempfile::TempDir;
    use tenure_store::{AccessChange, Bytes, ROOT_NAME};

    use super::*;
    use crate::auth::secrets::PasswordHashBuffer;
    use crate::config::Config;

    /// Starts a single member with authentication enabled. `root_password` is the password of root.
    /// Also returns the data directory.
    pub(crate) async fn member_with_users(root_password: &str) -> (TempDir, Arc<Member>) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        let (member, _) = Member::start(&config, config.validate().expect("a valid configuration"))
            .expect("a member");
        let (name, password) = (String::from(ROOT_NAME), hash(root_password));
        for access_change in [
            AccessChange::AddUser { name: name.clone(), password },
            AccessChange::GrantRole { user: name.clone(), role: name.clone() },
            AccessChange::Enable { secret: secrets::new_signing_key() },
        ] {
            change(&member, access_change).await;
        }
        (folder, member)
    }

    fn hash(password: &str) -> Bytes {
        secrets::hash_password(password, &mut PasswordHashBuffer::default())
    }

    async fn change(member: &Member, change: AccessChange) {
        let outcome = member.propose(Command::Access(change)).await.expect("an outcome");
        assert_eq!(outcome.result, Ok(CommandResult::AccessChanged));
    }

    #[tokio::test]
    async fn unauthorized_request_appends_no_entry() {
        let (_folder, member) = member_with_users("secret").await;
        let applied = || member.with_state(|state| state.store.applied());
        let (before, grant) = (applied(), Command::Grant { lease: 7, ttl: 60 });
        for (principal, why) in [
            (Principal::Anonymous, Error::UserEmpty),
            (Principal::User("eve".into()), Error::PermissionDenied),
        ] {
            let result = Caller::new(member.clone(), principal).execute(grant.clone()).await;
            assert_eq!(result, Err(why.into()));
        }
        assert_eq!(applied(), before);
        let root = Caller::new(member.clone(), Principal::User(ROOT_NAME.into()));
        assert!(root.execute(grant).await.is_ok());
        assert!(applied().index > before.index);
    }

    #[tokio::test]
    async fn release_requires_the_right_to_delete() {
        let (_folder, member) = member_with_users("secret").await;
        let released = || ReleasedLock { key: "1".into(), fence: 2 };
        for (principal, why) in [
            (Principal::Anonymous, Error::UserEmpty),
            (Principal::User("eve".into()), Error::PermissionDenied),
        ] {
            let result =
                Caller::new(member.clone(), principal).notify_waiters_of_release(released());
            assert_eq!(result, Err(why.into()));
        }
        assert_eq!(
            Caller::new(member, Principal::User(ROOT_NAME.into()))
                .notify_waiters_of_release(released()),
            Ok(())
        );
    }

    fn token(member: &Member, user: &str, ttl: Duration) -> String {
        member.with_state(|state| {
            let access = state.store.access_control();
            let hash = &access.user(user).expect("a user").password;
            secrets::issue_token(access, user, hash, ttl).expect("a token")
        })
    }

    #[tokio::test]
    async fn request_does_not_revive_an_expired_token() {
        let (_folder, member) = member_with_users("secret").await;
        let expired = token(&member, ROOT_NAME, Duration::ZERO);
        assert_eq!(
            Caller::from_token(member.clone(), &expired).err(),
            Some(RpcError::INVALID_TOKEN)
        );
        let read = member.with_state(|state| {
            secrets::verify_token_signature(state.store.access_control(), &expired)
        });
        // Records a use of the token. A token that was used recently is accepted although it has
        // expired.
        member.token_uses.record_use(read.expect("a token").signature, std::time::Instant::now());
        let caller = Caller::from_token(member.clone(), &expired).expect("a token in use");
        assert_eq!(caller.check_authenticated(), Ok(()));
        member.token_uses.clear();
        assert_eq!(caller.check_authenticated(), Err(RpcError::INVALID_TOKEN));
        assert_eq!(Caller::from_token(member, &expired).err(), Some(RpcError::INVALID_TOKEN));
        assert_eq!(caller.recheck_identity(), Ok(()), "the age does not matter between requests");
    }

    #[tokio::test]
    async fn token_ends_with_the_password_or_setting_it_was_issued_for() {
        let (_folder, member) = member_with_users("secret").await;
        let (name, minute) = (String::from(ROOT_NAME), Duration::from_secs(60));
        let caller = Caller::from_token(member.clone(), &token(&member, ROOT_NAME, minute))
            .expect("a token");
        assert_eq!(
            (caller.check_authenticated(), caller.current_user_name()),
            (Ok(()), Some(name.clone()))
        );
        change(&member, AccessChange::ChangePassword { name, password: hash("other") }).await;
        assert_eq!(
            (caller.check_authenticated(), caller.current_user_name()),
            (Err(RpcError::INVALID_TOKEN), None)
        );
        assert_eq!(caller.check_root(), Err(RpcError::INVALID_TOKEN));
        let granted = caller.execute(Command::Grant { lease: 7, ttl: 60 }).await;
        assert_eq!(granted, Err(RpcError::INVALID_TOKEN));
        let caller = Caller::from_token(member.clone(), &token(&member, ROOT_NAME, minute))
            .expect("a token");
        change(&member, AccessChange::Disable).await;
        assert_eq!((caller.check_authenticated(), caller.current_user_name()), (Ok(()), None));
        change(&member, AccessChange::Enable { secret: secrets::new_signing_key() }).await;
        assert_eq!(caller.check_authenticated(), Err(RpcError::INVALID_TOKEN));
    }

    #[tokio::test]
    async fn token_ends_with_its_user() {
        let (_folder, member) = member_with_users("secret").await;
        let add = || AccessChange::AddUser { name: "bob".into(), password: hash("one") };
        change(&member, add()).await;
        let token = token(&member, "bob", Duration::from_secs(60));
        let caller = Caller::from_token(member.clone(), &token).expect("a token");
        change(&member, AccessChange::DeleteUser { name: "bob".into() }).await;
        assert_eq!(caller.check_authenticated(), Err(RpcError::INVALID_TOKEN));
        change(&member, add()).await;
        assert_eq!(caller.check_authenticated(), Err(RpcError::INVALID_TOKEN));
    }
}
