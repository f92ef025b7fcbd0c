//! Checks of permissions. A principal is the origin of a request. The checks determine whether a
//! principal may read or change keys, leases, users and roles. While authentication is disabled,
//! every check succeeds.

use crate::access::coverage::{covers_keys, covers_span};
use crate::access::{AccessChange, AccessControl, Permission, Principal, ROOT_NAME, User};
use crate::claim::claim_key;
use crate::command::{Command, Delete, Put, Txn, TxnOperation};
use crate::error::Error;
use crate::lease::LeaseId;
use crate::range::RangeRead;
use crate::span::KeySpan;
use crate::store::Store;

impl AccessControl {
    /// Checks that a principal has all permissions. A user has all permissions if the user has the
    /// root role. A member of the service always has all permissions.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] if the principal has not authenticated. [`Error::PermissionDenied`] if
    /// the user does not exist or lacks the root role.
    pub fn authorize_root(&self, principal: &Principal) -> Result<(), Error> {
        match self.authenticated_user(principal)? {
            None => Ok(()),
            Some(name) => {
                let is_root = self.users.get(name).is_some_and(|it| it.roles.contains(ROOT_NAME));
                is_root.then_some(()).ok_or(Error::PermissionDenied)
            }
        }
    }

    /// Checks that a principal may read all keys of a span.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_read(&self, principal: &Principal, span: &KeySpan) -> Result<(), Error> {
        self.authorize(principal, |user| {
            covers_span(&self.granted_spans(user, Permission::Read), span)
        })
    }

    /// Checks that a principal may write all keys of a span.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_write(&self, principal: &Principal, span: &KeySpan) -> Result<(), Error> {
        self.authorize(principal, |user| {
            covers_span(&self.granted_spans(user, Permission::Write), span)
        })
    }

    /// Checks the principal of a request that requires no permission. The principal must be a
    /// member or an existing user. Returns the name of the user. Returns `None` for a member, or if
    /// authentication is disabled.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] if the principal has not authenticated. [`Error::PermissionDenied`] if
    /// the user does not exist.
    pub fn authenticated_user<'a>(
        &self,
        principal: &'a Principal,
    ) -> Result<Option<&'a str>, Error> {
        match principal {
            _ if !self.is_enabled() => Ok(None),
            Principal::Member => Ok(None),
            Principal::Anonymous => Err(Error::UserEmpty),
            Principal::User(name) if self.users.contains_key(name) => Ok(Some(name)),
            Principal::User(_) => Err(Error::PermissionDenied),
        }
    }

    fn authorize(
        &self,
        principal: &Principal,
        has: impl FnOnce(&User) -> bool,
    ) -> Result<(), Error> {
        let Some(name) = self.authenticated_user(principal)? else { return Ok(()) };
        let user = self.users.get(name).ok_or(Error::PermissionDenied)?;
        let may = user.roles.contains(ROOT_NAME) || has(user);
        may.then_some(()).ok_or(Error::PermissionDenied)
    }

    /// Checks that a principal may read the keys of a range.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_range(&self, principal: &Principal, range: &RangeRead) -> Result<(), Error> {
        self.authorize_read(principal, &range.span)
    }

    /// Checks that a principal may run a transaction. The principal must have the permissions for
    /// all comparisons and for all operations of both branches, regardless of which branch runs.
    /// Does not check the leases that the puts name.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_txn(&self, principal: &Principal, txn: &Txn) -> Result<(), Error> {
        self.authenticated_user(principal)?;
        txn.compare.iter().try_for_each(|compare| self.authorize_read(principal, &compare.span))?;
        let operations = txn.success.iter().chain(&txn.failure);
        operations.into_iter().try_for_each(|operation| match operation {
            TxnOperation::Range(range) => self.authorize_range(principal, range),
            TxnOperation::Put(put) => self.authorize_put(principal, put),
            TxnOperation::Delete(delete) => self.authorize_delete(principal, delete),
            TxnOperation::Txn(txn) => self.authorize_txn(principal, txn),
        })
    }

    fn authorize_put(&self, principal: &Principal, put: &Put) -> Result<(), Error> {
        let span = KeySpan::single(put.key.clone());
        self.authorize_write(principal, &span)?;
        if put.prev_kv { self.authorize_read(principal, &span) } else { Ok(()) }
    }

    fn authorize_delete(&self, principal: &Principal, delete: &Delete) -> Result<(), Error> {
        self.authorize_write(principal, &delete.span)?;
        if delete.prev_kv { self.authorize_read(principal, &delete.span) } else { Ok(()) }
    }
}

impl Store {
    /// Checks that a principal may list all leases. The principal must be able to read every key of
    /// every lease, as in etcd since version 3.6.9.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_lease_list(&self, principal: &Principal) -> Result<(), Error> {
        self.access.authorize(principal, |user| {
            let spans = self.access.granted_spans(user, Permission::Read);
            self.leases.0.values().all(|lease| covers_keys(&spans, &lease.keys))
        })
    }

    /// Checks that a principal may list the keys of a lease. The principal must be able to read
    /// every key of the lease. Returns no error if the lease does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_lease_key_list(
        &self,
        principal: &Principal,
        lease: LeaseId,
    ) -> Result<(), Error> {
        self.access.authorize(principal, |user| {
            let spans = self.access.granted_spans(user, Permission::Read);
            self.lease(lease).is_none_or(|lease| covers_keys(&spans, &lease.keys))
        })
    }

    /// Checks that a principal may renew a lease. The principal must be able to write every key
    /// that is attached to the lease. If the lease does not exist, it is sufficient that the
    /// principal has authenticated.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_renewal(&self, principal: &Principal, lease: LeaseId) -> Result<(), Error> {
        self.access.authenticated_user(principal)?;
        self.authorize_lease_end(principal, lease)
    }

    /// Checks that a principal may end a lease, or attach a key to it. The principal must be able
    /// to write every key that is already attached to the lease. Without this check, a user without
    /// these permissions could attach a key, and thereby keep the owner from ending the lease. If
    /// the lease does not exist, the check succeeds.
    fn authorize_lease_end(&self, principal: &Principal, lease: LeaseId) -> Result<(), Error> {
        let Some(lease) = self.lease(lease) else { return Ok(()) };
        self.access.authorize(principal, |user| {
            covers_keys(&self.access.granted_spans(user, Permission::Write), &lease.keys)
        })
    }

    /// Checks that a principal may attach keys to the leases that the puts of a transaction name.
    /// Each lease must pass [`Self::authorize_lease_end`].
    fn authorize_txn_leases(&self, principal: &Principal, txn: &Txn) -> Result<(), Error> {
        txn.success.iter().chain(&txn.failure).try_for_each(|operation| match operation {
            TxnOperation::Put(put) => self.authorize_lease_end(principal, put.lease),
            TxnOperation::Txn(txn) => self.authorize_txn_leases(principal, txn),
            TxnOperation::Range(_) | TxnOperation::Delete(_) => Ok(()),
        })
    }

    /// Checks that a principal may apply a command. A client that adds a claim to a queue must also
    /// be able to read the queue. Clients may not expire leases or record remaining times.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn authorize_command(&self, principal: &Principal, command: &Command) -> Result<(), Error> {
        let access = self.access_control();
        if access.authenticated_user(principal)?.is_none() {
            return Ok(());
        }
        match command {
            Command::Put(put) => {
                access.authorize_put(principal, put)?;
                self.authorize_lease_end(principal, put.lease)
            }
            Command::Delete(delete) => access.authorize_delete(principal, delete),
            Command::Txn(txn) => {
                access.authorize_txn(principal, txn)?;
                self.authorize_txn_leases(principal, txn)
            }
            Command::Grant { .. } => Ok(()),
            Command::Revoke { lease } => self.authorize_lease_end(principal, *lease),
            Command::Expire { .. } | Command::Checkpoint { .. } => Err(Error::PermissionDenied),
            Command::AcquireLock(it) => {
                let claim = KeySpan::single(claim_key(&it.name, it.lease, it.mode));
                access.authorize_write(principal, &claim)?;
                access
                    .authorize_read(principal, &KeySpan::prefix([&it.name[..], b"/"].concat()))?;
                self.authorize_lease_end(principal, it.lease)
            }
            // Users may change their own passwords. At etcd only root may.
            Command::Access(AccessChange::ChangePassword { name, .. })
                if *principal == Principal::User(name.clone()) =>
            {
                Ok(())
            }
            // A compaction removes the history of all watchers.
            Command::Compact { .. } | Command::Access(_) | Command::Alarm(_) => {
                access.authorize_root(principal)
            }
        }
    }
}
