//! What somebody may do.

use crate::access::coverage::{cover, cover_keys};
use crate::access::{Access, Asker, Change, ROOT, Rights, User};
use crate::claim::claim_key;
use crate::command::{Command, Delete, Operation, Put, Txn};
use crate::error::Error;
use crate::lease::{LeaseId, Leases};
use crate::range::Range;
use crate::span::Span;

impl Access {
    /// Whether somebody may do everything, as users and roles are changed by them.
    pub fn may_all(&self, asker: &Asker) -> Result<(), Error> {
        match self.named(asker)? {
            None => Ok(()),
            Some(name) => {
                let is_root = self.users.get(name).is_some_and(|it| it.roles.contains(ROOT));
                is_root.then_some(()).ok_or(Error::PermissionDenied)
            }
        }
    }

    /// Whether somebody may read these keys.
    pub fn may_read(&self, asker: &Asker, span: &Span) -> Result<(), Error> {
        self.may(asker, |user| cover(&self.spans(user, Rights::Read), span))
    }

    /// Whether somebody may write these keys.
    pub fn may_write(&self, asker: &Asker, span: &Span) -> Result<(), Error> {
        self.may(asker, |user| cover(&self.spans(user, Rights::Write), span))
    }

    /// Whether somebody may do what needs no more than the name of a user; which it is, where names
    /// count.
    pub fn named<'a>(&self, asker: &'a Asker) -> Result<Option<&'a str>, Error> {
        match asker {
            _ if !self.is_enabled() => Ok(None),
            Asker::Member => Ok(None),
            Asker::Anybody => Err(Error::UserEmpty),
            Asker::User(name) if self.users.contains_key(name) => Ok(Some(name)),
            Asker::User(_) => Err(Error::PermissionDenied),
        }
    }

    fn may(&self, asker: &Asker, has: impl FnOnce(&User) -> bool) -> Result<(), Error> {
        let Some(name) = self.named(asker)? else { return Ok(()) };
        let user = self.users.get(name).ok_or(Error::PermissionDenied)?;
        let may = user.roles.contains(ROOT) || has(user);
        may.then_some(()).ok_or(Error::PermissionDenied)
    }

    /// Whether somebody may read what a range reads.
    pub fn may_range(&self, asker: &Asker, range: &Range) -> Result<(), Error> {
        self.may_read(asker, &range.span)
    }

    /// Whether somebody may have a transaction done, whatever it finds.
    pub fn may_transact(&self, asker: &Asker, txn: &Txn) -> Result<(), Error> {
        self.named(asker)?;
        txn.compare.iter().try_for_each(|compare| self.may_read(asker, &compare.span))?;
        let operations = txn.success.iter().chain(&txn.failure);
        operations.into_iter().try_for_each(|operation| match operation {
            Operation::Range(range) => self.may_range(asker, range),
            Operation::Put(put) => self.may_put(asker, put),
            Operation::Delete(delete) => self.may_delete(asker, delete),
            Operation::Txn(txn) => self.may_transact(asker, txn),
        })
    }

    fn may_put(&self, asker: &Asker, put: &Put) -> Result<(), Error> {
        let span = Span::one(put.key.clone());
        self.may_write(asker, &span)?;
        if put.prev_kv { self.may_read(asker, &span) } else { Ok(()) }
    }

    fn may_delete(&self, asker: &Asker, delete: &Delete) -> Result<(), Error> {
        self.may_write(asker, &delete.span)?;
        if delete.prev_kv { self.may_read(asker, &delete.span) } else { Ok(()) }
    }

    /// Checks that a caller may list all leases: every key of every lease has to be readable, as at
    /// etcd since 3.6.9.
    pub(crate) fn may_list(&self, asker: &Asker, leases: &Leases) -> Result<(), Error> {
        self.may(asker, |user| {
            let spans = self.spans(user, Rights::Read);
            leases.0.values().all(|lease| cover_keys(&spans, &lease.keys))
        })
    }

    /// Whether somebody may end a lease, and so have keys end with it: whoever has it could end
    /// it no longer if others gave it theirs.
    pub(crate) fn may_end(
        &self,
        asker: &Asker,
        lease: LeaseId,
        leases: &Leases,
    ) -> Result<(), Error> {
        let Some(lease) = leases.0.get(&lease) else { return Ok(()) };
        self.may(asker, |user| cover_keys(&self.spans(user, Rights::Write), &lease.keys))
    }

    /// The same of all leases with which a transaction writes.
    fn may_end_all(&self, asker: &Asker, txn: &Txn, leases: &Leases) -> Result<(), Error> {
        txn.success.iter().chain(&txn.failure).try_for_each(|operation| match operation {
            Operation::Put(put) => self.may_end(asker, put.lease, leases),
            Operation::Txn(txn) => self.may_end_all(asker, txn, leases),
            Operation::Range(_) | Operation::Delete(_) => Ok(()),
        })
    }

    /// Whether somebody may have a command done. Whoever queues has to be able to see the queue.
    pub(crate) fn may_command(
        &self,
        asker: &Asker,
        command: &Command,
        leases: &Leases,
    ) -> Result<(), Error> {
        if self.named(asker)?.is_none() {
            return Ok(());
        }
        match command {
            Command::Put(put) => {
                self.may_put(asker, put)?;
                self.may_end(asker, put.lease, leases)
            }
            Command::Delete(delete) => self.may_delete(asker, delete),
            Command::Txn(txn) => {
                self.may_transact(asker, txn)?;
                self.may_end_all(asker, txn, leases)
            }
            Command::Compact { .. } | Command::Grant { .. } => Ok(()),
            Command::Revoke { lease } => self.may_end(asker, *lease, leases),
            Command::Expire { .. } | Command::Checkpoint { .. } => Err(Error::PermissionDenied),
            Command::Enqueue(it) => {
                self.may_write(asker, &Span::one(claim_key(&it.name, it.lease, it.share)))?;
                self.may_read(asker, &Span::prefix([&it.name[..], b"/"].concat()))?;
                self.may_end(asker, it.lease, leases)
            }
            // Their own, which at etcd is for root as all others.
            Command::Access(Change::ChangePassword { name, .. })
                if *asker == Asker::User(name.clone()) =>
            {
                Ok(())
            }
            Command::Access(_) | Command::Alarm(_) => self.may_all(asker),
        }
    }
}
