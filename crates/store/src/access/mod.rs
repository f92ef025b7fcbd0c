//! Access control: users, roles, and their permissions on keys.

mod authorization;
mod coverage;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::span::KeySpan;

/// Name of the root role, which has all permissions. Also the name of the root user, who must have
/// this role while authentication is enabled.
pub const ROOT_NAME: &str = "root";

/// Users and roles. Authentication may be enabled or disabled. This state is a part of the store,
/// so that all members make the same decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AccessControl {
    /// Key that signs tokens; empty while authentication is disabled.
    secret: Bytes,
    /// Number of applied [`AccessChange`]s. Excludes rejected changes.
    change_count: u64,
    users: BTreeMap<String, User>,
    /// Permissions of each role, by the name of the role and by the span of the keys. The root role
    /// need not be an entry.
    roles: BTreeMap<String, BTreeMap<KeySpan, Permission>>,
}

/// A user with password and roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct User {
    /// Hash of the password, computed before the command was proposed. Empty for a user without a
    /// password, who cannot authenticate by a password.
    pub password: Bytes,
    /// Names of the user's roles.
    pub roles: BTreeSet<String>,
}

/// Permission that a role has on the keys of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Permission {
    /// The role may read and watch the keys.
    Read,
    /// The role may write and delete the keys.
    Write,
    /// The role may read, watch, write and delete the keys.
    ReadWrite,
}

/// Origin of a command or a request, which determines its permissions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Principal {
    /// A member of the service itself. It has all permissions.
    Member,
    /// A client that has not authenticated.
    Anonymous,
    /// A user who has authenticated, by name. The user may have been deleted since then.
    User(String),
}

/// A change of users, of roles, or of authentication. A change that names a missing user or role,
/// or adds an existing one, is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AccessChange {
    /// Enables authentication. Rejected unless the root user exists and has the root role. Has no
    /// effect if authentication is already enabled.
    Enable {
        /// Key that signs tokens, drawn at random before the command was proposed. Must not be
        /// empty.
        secret: Bytes,
    },
    /// Disables authentication: all clients have all permissions.
    Disable,
    /// Adds a user without roles.
    AddUser {
        /// Name of the user.
        name: String,
        /// Hash of the password, as in [`User::password`].
        password: Bytes,
    },
    /// Deletes a user. The root user cannot be deleted while authentication is enabled.
    DeleteUser {
        /// Name of the user to delete. The change is rejected if no user has this name.
        name: String,
    },
    /// Changes the password of a user, which invalidates the tokens of this user. A user without a
    /// password does not get one.
    ChangePassword {
        /// Name of the user.
        name: String,
        /// Hash of the new password, as in [`User::password`].
        password: Bytes,
    },
    /// Grants a role to a user. The role must exist, unless it is [`ROOT_NAME`].
    GrantRole {
        /// Name of the user.
        user: String,
        /// Name of the role.
        role: String,
    },
    /// Revokes a role from a user. While authentication is enabled, the root role cannot be revoked
    /// from the root user.
    RevokeRole {
        /// Name of the user.
        user: String,
        /// Name of the role.
        role: String,
    },
    /// Adds a role without permissions.
    AddRole {
        /// Name of the role.
        name: String,
    },
    /// Deletes a role and revokes it from all users. The root role cannot be deleted while
    /// authentication is enabled.
    DeleteRole {
        /// Name of the role.
        name: String,
    },
    /// Grants a permission to a role. If the role has a permission on exactly the same span, the
    /// new permission replaces the old one.
    Grant {
        /// Name of the role.
        role: String,
        /// Keys that the permission applies to.
        span: KeySpan,
        /// Permission on the keys.
        permission: Permission,
    },
    /// Revokes a permission that was granted to a role on exactly the same span.
    Revoke {
        /// Name of the role.
        role: String,
        /// Keys that the permission applies to.
        span: KeySpan,
    },
}

impl AccessControl {
    /// Returns true if authentication is enabled.
    pub fn is_enabled(&self) -> bool {
        !self.secret.is_empty()
    }

    /// Returns the key that signs tokens; empty while authentication is disabled.
    pub fn signing_key(&self) -> &Bytes {
        &self.secret
    }

    /// Returns the number of applied [`AccessChange`]s, without the rejected ones.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Returns a user by name.
    ///
    /// # Errors
    ///
    /// [`Error::UserNotFound`] if the user does not exist.
    pub fn user(&self, name: &str) -> Result<&User, Error> {
        self.users.get(name).ok_or(Error::UserNotFound)
    }

    /// Returns the names of all users, in order.
    pub fn user_names(&self) -> impl Iterator<Item = &String> {
        self.users.keys()
    }

    /// Returns the permissions of a role, by span.
    ///
    /// # Errors
    ///
    /// [`Error::RoleNotFound`] if no role with this name was added.
    pub fn role_permissions(&self, name: &str) -> Result<&BTreeMap<KeySpan, Permission>, Error> {
        self.roles.get(name).ok_or(Error::RoleNotFound)
    }

    /// Returns the names of all roles, in order.
    pub fn role_names(&self) -> impl Iterator<Item = &String> {
        self.roles.keys()
    }

    /// Applies a change. If the change is rejected, returns an error and changes nothing.
    pub(crate) fn apply(&mut self, change: AccessChange) -> Result<(), Error> {
        match change {
            AccessChange::Enable { secret } => self.enable(secret)?,
            AccessChange::Disable => self.secret = Bytes::default(),
            AccessChange::AddUser { name, .. } if name.is_empty() => return Err(Error::UserEmpty),
            AccessChange::AddUser { name, .. } if self.users.contains_key(&name) => {
                return Err(Error::UserExists);
            }
            AccessChange::AddUser { name, password } => {
                self.users.insert(name, User { password, ..User::default() });
            }
            AccessChange::DeleteUser { name } => {
                self.protect_root(name == ROOT_NAME)?;
                self.users.remove(&name).map(drop).ok_or(Error::UserNotFound)?;
            }
            AccessChange::ChangePassword { name, password } => {
                let user = self.user_mut(&name)?;
                if !user.password.is_empty() {
                    user.password = password;
                }
            }
            AccessChange::GrantRole { user, role } => {
                let is_there = role == ROOT_NAME || self.roles.contains_key(&role);
                let user = self.user_mut(&user)?;
                is_there.then(|| user.roles.insert(role)).ok_or(Error::RoleNotFound)?;
            }
            AccessChange::RevokeRole { user, role } => {
                self.protect_root(user == ROOT_NAME && role == ROOT_NAME)?;
                let had = self.user_mut(&user)?.roles.remove(&role);
                had.then_some(()).ok_or(Error::RoleNotGranted)?;
            }
            AccessChange::AddRole { name } if name.is_empty() => return Err(Error::RoleEmpty),
            AccessChange::AddRole { name } if self.roles.contains_key(&name) => {
                return Err(Error::RoleExists);
            }
            AccessChange::AddRole { name } => drop(self.roles.insert(name, BTreeMap::new())),
            AccessChange::DeleteRole { name } => {
                self.protect_root(name == ROOT_NAME)?;
                self.roles.remove(&name).map(drop).ok_or(Error::RoleNotFound)?;
                for user in self.users.values_mut() {
                    user.roles.remove(&name);
                }
            }
            AccessChange::Grant { role, span, permission } => {
                let role = self.roles.get_mut(&role).ok_or(Error::RoleNotFound)?;
                role.insert(span, permission);
            }
            AccessChange::Revoke { role, span } => {
                let role = self.roles.get_mut(&role).ok_or(Error::RoleNotFound)?;
                role.remove(&span).map(drop).ok_or(Error::PermissionNotGranted)?;
            }
        }
        self.change_count += 1;
        Ok(())
    }

    /// Enables authentication. Requires the root user with the root role, so that authentication
    /// can be disabled again.
    fn enable(&mut self, secret: Bytes) -> Result<(), Error> {
        let root = self.users.get(ROOT_NAME).ok_or(Error::RootUserMissing)?;
        root.roles.contains(ROOT_NAME).then_some(()).ok_or(Error::RootRoleMissing)?;
        if !self.is_enabled() {
            self.secret = secret;
        }
        Ok(())
    }

    /// Returns an error if authentication is enabled and `is_of_root` is true. The caller sets
    /// `is_of_root` if the change deletes the user root or the role root, or revokes this role from
    /// this user.
    fn protect_root(&self, is_of_root: bool) -> Result<(), Error> {
        (!is_of_root || !self.is_enabled()).then_some(()).ok_or(Error::AccessWouldBeLost)
    }

    fn user_mut(&mut self, name: &str) -> Result<&mut User, Error> {
        self.users.get_mut(name).ok_or(Error::UserNotFound)
    }

    /// Returns the spans on which at least one role of the user has `permission`.
    fn granted_spans(&self, user: &User, permission: Permission) -> Vec<&KeySpan> {
        let roles = user.roles.iter().filter_map(|role| self.roles.get(role));
        let granted = roles.flatten().filter(|(_, granted)| granted.includes(permission));
        granted.map(|(span, _)| span).collect()
    }
}

impl Permission {
    fn includes(self, permission: Permission) -> bool {
        self == permission || self == Permission::ReadWrite
    }
}
