//! Who asks a member for something, and what they may ask.

use std::future::pending;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;
use tenure_store::{Access, Answer, Asker, Command, Error, Outcome, Span, Store};
use tokio::time::{Instant, sleep_until};

use crate::errand::Released;
use crate::member::Member;
use crate::proposal::Unheard;
use crate::refusal::Refusal;
use crate::secrets::{self, Token};

/// What a call asks for by its metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallOptions {
    /// True if the call is ended when no leader is known.
    pub(crate) requires_leader: bool,
    /// Time at which the client stops waiting.
    pub(crate) deadline: Option<Instant>,
}

/// A member, as somebody has it who asks: what they ask is done if they may ask it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    member: Arc<Member>,
    identity: Identity,
    options: CallOptions,
    /// Number of requests of this call that were sent to the leader and have no outcome yet.
    undecided: Arc<AtomicUsize>,
}

/// Who calls.
#[derive(Clone, Debug)]
enum Identity {
    /// The same for the whole call.
    Known(Asker),
    /// The user who is named by a token. The token is verified at each use, because an open stream
    /// may outlive the password, the user or the setting that it was issued for.
    Token {
        text: Arc<str>,
        /// The user at the beginning of the call, for the log.
        user: Option<Arc<str>>,
    },
}

/// Counts a request as undecided until it is dropped.
#[derive(Debug)]
pub(crate) struct Undecided(Arc<AtomicUsize>);

impl Drop for Undecided {
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
    pub(crate) fn new(member: Arc<Member>, asker: Asker) -> Self {
        Caller::of(member, Identity::Known(asker))
    }

    fn of(member: Arc<Member>, identity: Identity) -> Self {
        Caller { member, identity, options: CallOptions::default(), undecided: Arc::default() }
    }

    /// The caller that a request names by its token: `token` as clients in Go send it, or
    /// `authorization`, with `Bearer` or without.
    pub(crate) fn named_by(member: Arc<Member>, headers: &HeaderMap) -> Result<Self, Refusal> {
        let token = headers.get("token").or_else(|| headers.get("authorization"));
        let Some(token) = token else { return Ok(Caller::new(member, Asker::Anybody)) };
        let token = token.to_str().unwrap_or_default();
        Caller::with(member, token.strip_prefix("Bearer ").unwrap_or(token))
    }

    /// The caller who has this token, if it is valid or no token is needed. This is a use of it.
    fn with(member: Arc<Member>, token: &str) -> Result<Self, Refusal> {
        let identity = Identity::Token { text: token.into(), user: None };
        let mut caller = Caller::of(member, identity);
        let token = caller.look(|state| caller.token(state.store.access()))?;
        if let Some(token) = token {
            caller.tokens.take(&token, std::time::Instant::now())?;
            if let Identity::Token { user, .. } = &mut caller.identity {
                *user = Some(token.name.into());
            }
        }
        Ok(caller)
    }

    /// The same caller with these options.
    pub(crate) fn with_options(self, options: CallOptions) -> Self {
        Caller { options, ..self }
    }

    /// The token of the caller, if it has one that counts.
    fn token(&self, access: &Access) -> Result<Option<Token>, Refusal> {
        match &self.identity {
            Identity::Token { text, .. } if access.is_enabled() => {
                secrets::read(access, text).map(Some)
            }
            Identity::Token { .. } | Identity::Known(_) => Ok(None),
        }
    }

    /// Who calls, by what is valid now. The age of a token does not matter here.
    fn asker(&self, access: &Access) -> Result<Asker, Refusal> {
        let token = self.token(access)?;
        Ok(match (token, &self.identity) {
            (Some(token), _) => Asker::User(token.name),
            (None, Identity::Known(asker)) => asker.clone(),
            (None, Identity::Token { .. }) => Asker::Anybody,
        })
    }

    /// True if the call is to be ended when no leader is known.
    pub(crate) fn requires_leader(&self) -> bool {
        self.options.requires_leader
    }

    /// Resolves when no leader has been known for a while and the call requires one.
    pub(crate) fn leader_lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let monitor = self.requires_leader().then(|| self.member.leader_monitor.clone());
        async move {
            match monitor {
                Some(monitor) => monitor.lost().await,
                None => pending().await,
            }
        }
    }

    /// Resolves when a stream has to end though both sides would continue, with the reason.
    pub(crate) fn ended(&self) -> impl Future<Output = Refusal> + Send + use<> {
        let (leader_lost, deadline) = (self.leader_lost(), self.options.deadline);
        async move {
            let is_late = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = leader_lost => Refusal::NO_LEADER,
                () = is_late => Refusal::DEADLINE_EXCEEDED,
            }
        }
    }

    /// Counts a request as sent to the leader, until what is returned is dropped.
    pub(crate) fn undecided(&self) -> Undecided {
        self.undecided.fetch_add(1, Ordering::Relaxed);
        Undecided(self.undecided.clone())
    }

    /// Why a call is ended at its deadline. As at etcd, a request that may yet be done is
    /// `Unavailable`, so that no client takes it for one that is safe to repeat.
    pub(crate) fn at_deadline(&self) -> Refusal {
        match self.undecided.load(Ordering::Relaxed) {
            0 => Refusal::DEADLINE_EXCEEDED,
            _ => Refusal::TIMED_OUT,
        }
    }

    /// Has a command committed, and says what came of it. Who is nobody is refused here already,
    /// so that strangers do not fill the log; all rights are looked at where it is taken.
    pub(crate) async fn propose(&self, command: Command) -> Result<Outcome, Refusal> {
        self.propose_with(command, None).await
    }

    /// The same, and says what is to be done about it if it was done and they had stopped waiting.
    pub(crate) async fn propose_or(
        &self,
        command: Command,
        unheard: impl FnOnce(Outcome) + Send + 'static,
    ) -> Result<Outcome, Refusal> {
        self.propose_with(command, Some(Box::new(unheard))).await
    }

    async fn propose_with(
        &self,
        command: Command,
        unheard: Option<Unheard>,
    ) -> Result<Outcome, Refusal> {
        self.is_named()?;
        self.has_room(&command).await?;
        let _undecided = self.undecided();
        let asker = self.look(|state| self.asker(state.store.access()))?;
        self.member.propose_for(&asker, command, unheard, || self.is_valid()).await
    }

    /// The member itself, which may have anything done.
    pub(crate) fn as_member(&self) -> &Member {
        &self.member
    }

    /// Returns an error if they may not have a command done, as far as this member knows by now.
    pub(crate) fn may_command(&self, command: &Command) -> Result<(), Refusal> {
        self.look(|state| {
            let asker = self.asker(state.store.access())?;
            Ok(state.store.may(&asker, command)?)
        })
    }

    /// Tells whoever waits behind a key that it is claimed no longer, if they may delete it.
    pub(crate) fn release(&self, released: Released) -> Result<(), Refusal> {
        self.may(|access, asker| access.may_write(asker, &Span::one(released.key.clone())))?;
        self.member.release(released);
        Ok(())
    }

    /// The same, of a command that says what is wrong with it.
    pub(crate) async fn answer(&self, command: Command) -> Result<(u64, Answer), Refusal> {
        let outcome = self.propose(command).await?;
        Ok((outcome.revision, outcome.answer?))
    }

    /// Whether they may do something, as far as this member knows by now.
    pub(crate) fn may(
        &self,
        check: impl FnOnce(&Access, &Asker) -> Result<(), Error>,
    ) -> Result<(), Refusal> {
        self.may_in(|store, asker| check(store.access(), asker))
    }

    /// The same of a right that depends on what is in the store.
    pub(crate) fn may_in(
        &self,
        check: impl FnOnce(&Store, &Asker) -> Result<(), Error>,
    ) -> Result<(), Refusal> {
        self.look(|state| {
            let asker = self.asker(state.store.access())?;
            Ok(check(&state.store, &asker)?)
        })
    }

    /// Reads the store, if they may: as both are at one place of the log.
    pub(crate) fn read<T>(
        &self,
        check: impl FnOnce(&Access, &Asker) -> Result<(), Error>,
        read: impl FnOnce(&Store) -> Result<T, Error>,
    ) -> Result<T, Refusal> {
        self.look(|state| {
            let asker = self.asker(state.store.access())?;
            check(state.store.access(), &asker)?;
            Ok(read(&state.store)?)
        })
    }

    /// Begins a request: the caller has to be a user where users are enabled, and its token has to
    /// be valid, its age included. The request is a use of the token.
    pub(crate) fn is_named(&self) -> Result<(), Refusal> {
        let token = self.look(|state| {
            let access = state.store.access();
            access.named(&self.asker(access)?)?;
            self.token(access)
        })?;
        token.map_or(Ok(()), |token| self.tokens.take(&token, std::time::Instant::now()))
    }

    /// Checks that the caller is still who it was. The age of a token does not matter.
    pub(crate) fn is_valid(&self) -> Result<(), Refusal> {
        self.may(|access, asker| access.named(asker).map(drop))
    }

    /// Whether they may do what only root may, where names count.
    pub(crate) fn may_all(&self) -> Result<(), Refusal> {
        self.may(Access::may_all)
    }

    /// The user, as far as the caller proves it now.
    pub(crate) fn user(&self) -> Option<String> {
        match self.look(|state| self.asker(state.store.access())) {
            Ok(Asker::User(name)) => Some(name),
            Ok(Asker::Member | Asker::Anybody) | Err(_) => None,
        }
    }

    /// The name by which the log knows the caller.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.identity {
            Identity::Known(Asker::User(name)) => Some(name),
            Identity::Token { user, .. } => user.as_deref(),
            Identity::Known(Asker::Member | Asker::Anybody) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::time::Duration;

    use tenure_store::{Change, ROOT};

    use super::*;
    use crate::config::Config;
    use crate::secrets::Memory;

    /// A member of its own where everybody says who they are, and root has this password.
    pub(crate) async fn closed(folder: &Path, password: &str) -> Arc<Member> {
        let config = Config { data_dir: Some(folder.into()), ..Config::default() };
        let (member, _) = Member::start(&config, config.plan().expect("a plan")).expect("a member");
        let (name, password) =
            (String::from(ROOT), secrets::kept(password, &mut Memory::default()));
        for change in [
            Change::AddUser { name: name.clone(), password },
            Change::GrantRole { user: name.clone(), role: name.clone() },
            Change::Enable { secret: secrets::key() },
        ] {
            let outcome = member.propose(Command::Access(change)).await.expect("an outcome");
            assert_eq!(outcome.answer, Ok(Answer::Access));
        }
        member
    }

    #[tokio::test]
    async fn what_a_stranger_asks_is_no_entry_of_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let applied = || member.look(|state| state.store.applied());
        let (before, grant) = (applied(), Command::Grant { lease: 7, ttl: 60 });
        for (asker, why) in [
            (Asker::Anybody, Error::UserEmpty),
            (Asker::User("eve".into()), Error::PermissionDenied),
        ] {
            let asked = Caller::new(member.clone(), asker).answer(grant.clone()).await;
            assert_eq!(asked, Err(why.into()));
        }
        assert_eq!(applied(), before);
        let root = Caller::new(member.clone(), Asker::User(ROOT.into()));
        assert!(root.answer(grant).await.is_ok());
        assert!(applied().index > before.index);
    }

    #[tokio::test]
    async fn who_may_not_delete_a_key_does_not_release_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let released = || Released { key: "1".into(), fence: 2 };
        for (asker, why) in [
            (Asker::Anybody, Error::UserEmpty),
            (Asker::User("eve".into()), Error::PermissionDenied),
        ] {
            let told = Caller::new(member.clone(), asker).release(released());
            assert_eq!(told, Err(why.into()));
        }
        assert_eq!(Caller::new(member, Asker::User(ROOT.into())).release(released()), Ok(()));
    }

    /// A token of root that counts for so long by what it says itself.
    fn token(member: &Member, ttl: Duration) -> String {
        member.look(|state| {
            let access = state.store.access();
            let kept = &access.user(ROOT).expect("root").password;
            secrets::token(access, ROOT, kept, ttl).expect("a token")
        })
    }

    #[tokio::test]
    async fn a_request_uses_the_token_and_does_not_revive_one_that_expired() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let expired = token(&member, Duration::ZERO);
        assert_eq!(Caller::with(member.clone(), &expired).err(), Some(Refusal::INVALID_TOKEN));
        let read = member.look(|state| secrets::read(state.store.access(), &expired));
        // It was used lately, so it counts.
        member.tokens.note(read.expect("a token").seal, std::time::Instant::now());
        let caller = Caller::with(member.clone(), &expired).expect("a token that is used");
        assert_eq!(caller.is_named(), Ok(()));
        member.tokens.forget();
        assert_eq!(caller.is_named(), Err(Refusal::INVALID_TOKEN));
        assert_eq!(Caller::with(member, &expired).err(), Some(Refusal::INVALID_TOKEN));
        assert_eq!(caller.is_valid(), Ok(()), "its age does not matter between requests");
    }

    #[tokio::test]
    async fn a_token_ends_with_the_password_and_with_the_setting_it_was_issued_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let change = async |change| {
            let outcome = member.propose(Command::Access(change)).await.expect("an outcome");
            assert_eq!(outcome.answer, Ok(Answer::Access));
        };
        let kept = |password: &str| secrets::kept(password, &mut Memory::default());
        let (name, minute) = (String::from(ROOT), Duration::from_secs(60));
        let caller = Caller::with(member.clone(), &token(&member, minute)).expect("a token");
        assert_eq!((caller.is_named(), caller.user()), (Ok(()), Some(name.clone())));
        change(Change::ChangePassword { name, password: kept("other") }).await;
        assert_eq!((caller.is_named(), caller.user()), (Err(Refusal::INVALID_TOKEN), None));
        assert_eq!(caller.may_all(), Err(Refusal::INVALID_TOKEN));
        let granted = caller.answer(Command::Grant { lease: 7, ttl: 60 }).await;
        assert_eq!(granted, Err(Refusal::INVALID_TOKEN));
        let caller = Caller::with(member.clone(), &token(&member, minute)).expect("a token");
        change(Change::Disable).await;
        assert_eq!((caller.is_named(), caller.user()), (Ok(()), None));
        change(Change::Enable { secret: secrets::key() }).await;
        assert_eq!(caller.is_named(), Err(Refusal::INVALID_TOKEN));
    }

    #[tokio::test]
    async fn a_token_ends_with_its_user_though_another_of_the_same_name_follows() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let change = async |change| {
            let outcome = member.propose(Command::Access(change)).await.expect("an outcome");
            assert_eq!(outcome.answer, Ok(Answer::Access));
        };
        let add = || Change::AddUser {
            name: "bob".into(),
            password: secrets::kept("one", &mut Memory::default()),
        };
        change(add()).await;
        let token = member.look(|state| {
            let access = state.store.access();
            let kept = &access.user("bob").expect("bob").password;
            secrets::token(access, "bob", kept, Duration::from_secs(60)).expect("a token")
        });
        let caller = Caller::with(member.clone(), &token).expect("a token");
        change(Change::DeleteUser { name: "bob".into() }).await;
        assert_eq!(caller.is_named(), Err(Refusal::INVALID_TOKEN));
        change(add()).await;
        assert_eq!(caller.is_named(), Err(Refusal::INVALID_TOKEN));
    }
}
