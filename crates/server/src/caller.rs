//! Who asks a member for something, and what they may ask.

use std::ops::Deref;
use std::sync::Arc;

use tenure_store::{Access, Answer, Asker, Command, Error, Outcome, Store};

use crate::member::Member;
use crate::refusal::Refusal;

/// A member, as somebody has it who asks: what they ask is done if they may ask it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    member: Arc<Member>,
    asker: Asker,
}

impl Deref for Caller {
    type Target = Member;

    fn deref(&self) -> &Member {
        &self.member
    }
}

impl Caller {
    pub(crate) fn new(member: Arc<Member>, asker: Asker) -> Self {
        Caller { member, asker }
    }

    /// Has a command committed, and says what came of it.
    pub(crate) async fn propose(&self, command: Command) -> Result<Outcome, Refusal> {
        self.member.propose_for(&self.asker, command, None).await
    }

    /// The same, and says what is to be done about it if it was done and they had stopped waiting.
    pub(crate) async fn propose_or(
        &self,
        command: Command,
        unheard: impl FnOnce(Outcome) + Send + 'static,
    ) -> Result<Outcome, Refusal> {
        self.member.propose_for(&self.asker, command, Some(Box::new(unheard))).await
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

    /// Whether they have said who they are, where everybody has to.
    pub(crate) fn is_named(&self) -> Result<(), Refusal> {
        self.may(|access, asker| access.named(asker).map(drop))
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
