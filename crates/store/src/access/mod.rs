//! Users and roles: who may read and write which keys, once somebody asks for that.

mod coverage;
mod rights;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::span::Span;

/// The user, and the role, that may do everything.
pub const ROOT: &str = "root";

/// Users, roles, and whether they count. It is part of the store, so that all members judge alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Access {
    /// By what tokens are signed; nothing as long as nobody has to say who they are.
    secret: Bytes,
    /// How often anything of it was changed.
    changes: u64,
    users: BTreeMap<String, User>,
    /// What each role may do, by the keys.
    roles: BTreeMap<String, BTreeMap<Span, Rights>>,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct User {
    /// What a password is compared with, as whoever proposed it made it; empty for a user who has
    /// none, and cannot prove who they are by one.
    pub password: Bytes,
    /// What they may do.
    pub roles: BTreeSet<String>,
}

/// What may be done with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rights {
    /// They may be read and watched.
    Read,
    /// They may be written and deleted.
    Write,
    /// Both.
    Both,
}

/// Who asks for something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Asker {
    /// A member, for the service itself.
    Member,
    /// Somebody who does not say who they are.
    Anybody,
    /// A user, who has proved it.
    User(String),
}

/// A change of users and roles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Change {
    /// From now on everybody has to say who they are.
    Enable {
        /// By what tokens are signed, drawn by whoever proposes this.
        secret: Bytes,
    },
    /// Nobody has to any more.
    Disable,
    /// A user who may do nothing so far.
    AddUser {
        /// What they are called.
        name: String,
        /// As in [`User::password`].
        password: Bytes,
    },
    /// A user is no more.
    DeleteUser {
        /// Which.
        name: String,
    },
    /// Another password. Tokens that were given for the one before are void. Who was made without
    /// one has none after this either.
    ChangePassword {
        /// Whose.
        name: String,
        /// As in [`User::password`].
        password: Bytes,
    },
    /// A user has a role.
    GrantRole {
        /// Who.
        user: String,
        /// Which.
        role: String,
    },
    /// A user has a role no longer.
    RevokeRole {
        /// Who.
        user: String,
        /// Which.
        role: String,
    },
    /// A role that may do nothing so far.
    AddRole {
        /// What it is called.
        name: String,
    },
    /// A role is no more, and nobody has it.
    DeleteRole {
        /// Which.
        name: String,
    },
    /// A role may do something, and what it might do with just these keys before counts no longer.
    Grant {
        /// Which.
        role: String,
        /// With which keys.
        span: Span,
        /// What.
        rights: Rights,
    },
    /// A role may do nothing with these keys, as far as this was granted as it is said here.
    Revoke {
        /// Which.
        role: String,
        /// Which keys.
        span: Span,
    },
}

impl Access {
    /// Whether everybody has to say who they are.
    pub fn is_enabled(&self) -> bool {
        !self.secret.is_empty()
    }

    /// By what tokens are signed; empty if nobody has to say who they are.
    pub fn secret(&self) -> &Bytes {
        &self.secret
    }

    /// How often anything of it was changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// A user, if there is one.
    pub fn user(&self, name: &str) -> Result<&User, Error> {
        self.users.get(name).ok_or(Error::UserNotFound)
    }

    /// All users, by their names.
    pub fn users(&self) -> impl Iterator<Item = &String> {
        self.users.keys()
    }

    /// What a role may do, if there is one.
    pub fn role(&self, name: &str) -> Result<&BTreeMap<Span, Rights>, Error> {
        self.roles.get(name).ok_or(Error::RoleNotFound)
    }

    /// All roles, by their names.
    pub fn roles(&self) -> impl Iterator<Item = &String> {
        self.roles.keys()
    }

    /// Takes a change, or refuses it and stays as it is.
    pub(crate) fn take(&mut self, change: Change) -> Result<(), Error> {
        match change {
            Change::Enable { secret } => self.enable(secret)?,
            Change::Disable => self.secret = Bytes::default(),
            Change::AddUser { name, password } => self.add_user(name, password)?,
            Change::DeleteUser { name } => {
                self.spares_root(name == ROOT)?;
                self.users.remove(&name).map(drop).ok_or(Error::UserNotFound)?;
            }
            Change::ChangePassword { name, password } => {
                let user = self.known(&name)?;
                if !user.password.is_empty() {
                    user.password = password;
                }
            }
            Change::GrantRole { user, role } => {
                let is_there = role == ROOT || self.roles.contains_key(&role);
                let user = self.known(&user)?;
                is_there.then(|| user.roles.insert(role)).ok_or(Error::RoleNotFound)?;
            }
            Change::RevokeRole { user, role } => {
                self.spares_root(user == ROOT && role == ROOT)?;
                let had = self.known(&user)?.roles.remove(&role);
                had.then_some(()).ok_or(Error::RoleNotGranted)?;
            }
            Change::AddRole { name } => self.add_role(name)?,
            Change::DeleteRole { name } => {
                self.spares_root(name == ROOT)?;
                self.roles.remove(&name).map(drop).ok_or(Error::RoleNotFound)?;
                for user in self.users.values_mut() {
                    user.roles.remove(&name);
                }
            }
            Change::Grant { role, span, rights } => {
                let role = self.roles.get_mut(&role).ok_or(Error::RoleNotFound)?;
                role.insert(span, rights);
            }
            Change::Revoke { role, span } => {
                let role = self.roles.get_mut(&role).ok_or(Error::RoleNotFound)?;
                role.remove(&span).map(drop).ok_or(Error::PermissionNotGranted)?;
            }
        }
        self.changes += 1;
        Ok(())
    }

    /// Somebody has to be able to change all this afterwards.
    fn enable(&mut self, secret: Bytes) -> Result<(), Error> {
        let root = self.users.get(ROOT).ok_or(Error::RootUserMissing)?;
        root.roles.contains(ROOT).then_some(()).ok_or(Error::RootRoleMissing)?;
        if !self.is_enabled() {
            self.secret = secret;
        }
        Ok(())
    }

    /// As long as rights count, root keeps theirs.
    fn spares_root(&self, is_of_root: bool) -> Result<(), Error> {
        (!is_of_root || !self.is_enabled()).then_some(()).ok_or(Error::AccessWouldBeLost)
    }

    fn add_user(&mut self, name: String, password: Bytes) -> Result<(), Error> {
        match name.as_str() {
            "" => Err(Error::UserEmpty),
            name if self.users.contains_key(name) => Err(Error::UserExists),
            _ => {
                self.users.insert(name, User { password, ..User::default() });
                Ok(())
            }
        }
    }

    fn add_role(&mut self, name: String) -> Result<(), Error> {
        match name.as_str() {
            "" => Err(Error::RoleEmpty),
            name if self.roles.contains_key(name) => Err(Error::RoleExists),
            _ => {
                self.roles.insert(name, BTreeMap::new());
                Ok(())
            }
        }
    }

    fn known(&mut self, name: &str) -> Result<&mut User, Error> {
        self.users.get_mut(name).ok_or(Error::UserNotFound)
    }

    /// The keys with which a user may do something, of all their roles.
    fn spans(&self, user: &User, what: Rights) -> Vec<&Span> {
        let roles = user.roles.iter().filter_map(|role| self.roles.get(role));
        let granted = roles.flatten().filter(|(_, rights)| rights.include(what));
        granted.map(|(span, _)| span).collect()
    }
}

impl Rights {
    fn include(self, what: Rights) -> bool {
        self == what || self == Rights::Both
    }
}
