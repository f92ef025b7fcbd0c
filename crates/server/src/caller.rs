//! Who asks a member for something, and what they may ask.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use tenure_store::{Access, Answer, Asker, Command, Error, Outcome, Span, Store};

use crate::errand::Released;
use crate::member::Member;
use crate::proposal::Unheard;
use crate::refusal::Refusal;
use crate::secrets::{Seal, Token};

/// A member, as somebody has it who asks: what they ask is done if they may ask it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    member: Arc<Member>,
    asker: Asker,
    /// Of the token by which they are known.
    seal: Option<Seal>,
}

impl Deref for Caller {
    type Target = Member;

    fn deref(&self) -> &Member {
        &self.member
    }
}

impl Caller {
    pub(crate) fn new(member: Arc<Member>, asker: Asker) -> Self {
        Caller { member, asker, seal: None }
    }

    /// Whoever has this token, if it still counts.
    pub(crate) fn with(member: Arc<Member>, token: Token) -> Result<Self, Refusal> {
        member.tokens.take(&token, Instant::now())?;
        Ok(Caller { member, asker: Asker::User(token.name), seal: Some(token.seal) })
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
        self.member.propose_for(&self.asker, command, unheard).await
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
        Ok(self.look(|state| check(state.store.access(), &self.asker))?)
    }

    /// Reads the store, if they may: as both are at one place of the log.
    pub(crate) fn read<T>(
        &self,
        check: impl FnOnce(&Access, &Asker) -> Result<(), Error>,
        read: impl FnOnce(&Store) -> Result<T, Error>,
    ) -> Result<T, Refusal> {
        Ok(self.look(|state| {
            check(state.store.access(), &self.asker)?;
            read(&state.store)
        })?)
    }

    /// Whether they have said who they are, where everybody has to. That they ask for something
    /// again, in a stream that goes on, is a use of their token as well.
    pub(crate) fn is_named(&self) -> Result<(), Refusal> {
        self.may(|access, asker| access.named(asker).map(drop))?;
        if let Some(seal) = self.seal {
            self.tokens.note(seal, Instant::now());
        }
        Ok(())
    }

    /// Whether they may do what only root may, where names count.
    pub(crate) fn may_all(&self) -> Result<(), Refusal> {
        self.may(Access::may_all)
    }

    /// Whether they are this user.
    pub(crate) fn is_user(&self, name: &str) -> bool {
        matches!(&self.asker, Asker::User(mine) if mine == name)
    }

    /// The name by which they are known.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.asker {
            Asker::User(name) => Some(name),
            Asker::Member | Asker::Anybody => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use tenure_store::{Change, ROOT};

    use super::*;
    use crate::config::Config;
    use crate::secrets::{self, Memory};

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

    #[tokio::test]
    async fn a_stream_that_goes_on_uses_the_token_that_it_began_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        let token = |has_expired| Token { name: ROOT.into(), seal: [1; 32], has_expired };
        let caller = Caller::with(member.clone(), token(false)).expect("a token that counts");
        member.tokens.forget();
        assert!(Caller::with(member.clone(), token(true)).is_err());
        assert_eq!(caller.is_named(), Ok(()));
        assert!(Caller::with(member, token(true)).is_ok());
    }
}
