//! Errors of the store. Their messages are those of etcd.

use core::fmt;

/// Error of a command or a read, which then has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Error {
    /// The key in the request is empty.
    EmptyKey,
    /// The command has a value, although the key should keep its present one.
    ValueProvided,
    /// The command has a lease, although the key should keep its present one.
    LeaseProvided,
    /// The key that should keep its value or lease does not exist.
    KeyNotFound,
    /// A transaction writes the same key twice.
    DuplicateKey,
    /// A transaction has too many operations.
    TooManyOperations,
    /// The requested revision was compacted, so it can no longer be read.
    Compacted,
    /// The revision does not exist yet.
    FutureRevision,
    /// The lease does not exist.
    LeaseNotFound,
    /// A lease with this id exists.
    LeaseExists,
    /// The TTL of the lease is too large.
    TtlTooLarge,
    /// The store has reached its quota, and the command would make it larger.
    NoSpace,
    /// Authentication is not enabled.
    AccessDisabled,
    /// The name of a user is empty, or the client has not authenticated.
    UserEmpty,
    /// A user with this name exists.
    UserExists,
    /// The user does not exist.
    UserNotFound,
    /// The name of a role is empty.
    RoleEmpty,
    /// A role with this name exists.
    RoleExists,
    /// The role does not exist.
    RoleNotFound,
    /// The user does not have the role.
    RoleNotGranted,
    /// The role does not have the permission that should be revoked.
    PermissionNotGranted,
    /// The principal lacks the permission for the request.
    PermissionDenied,
    /// There is no root user, so authentication cannot be enabled: it could not be disabled again.
    RootUserMissing,
    /// The root user lacks the root role, so authentication cannot be enabled.
    RootRoleMissing,
    /// The change would take rights from root while authentication is enabled.
    AccessWouldBeLost,
}

/// gRPC status code of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is invalid in any state.
    InvalidArgument,
    /// The user, role, lease or key of the request does not exist.
    NotFound,
    /// The state does not allow the request.
    FailedPrecondition,
    /// The principal lacks the permission.
    PermissionDenied,
    /// A number is out of range.
    OutOfRange,
    /// A limit is reached.
    ResourceExhausted,
}

impl Error {
    /// All errors, in the order of their declaration, for tests of their messages and codes.
    pub const ALL: [Error; 25] = [
        Error::EmptyKey,
        Error::ValueProvided,
        Error::LeaseProvided,
        Error::KeyNotFound,
        Error::DuplicateKey,
        Error::TooManyOperations,
        Error::Compacted,
        Error::FutureRevision,
        Error::LeaseNotFound,
        Error::LeaseExists,
        Error::TtlTooLarge,
        Error::NoSpace,
        Error::AccessDisabled,
        Error::UserEmpty,
        Error::UserExists,
        Error::UserNotFound,
        Error::RoleEmpty,
        Error::RoleExists,
        Error::RoleNotFound,
        Error::RoleNotGranted,
        Error::PermissionNotGranted,
        Error::PermissionDenied,
        Error::RootUserMissing,
        Error::RootRoleMissing,
        Error::AccessWouldBeLost,
    ];

    /// Returns the message of the error. It equals that of etcd, because clients compare it.
    pub const fn message(self) -> &'static str {
        match self {
            Error::EmptyKey => "etcdserver: key is not provided",
            Error::ValueProvided => "etcdserver: value is provided",
            Error::LeaseProvided => "etcdserver: lease is provided",
            Error::KeyNotFound => "etcdserver: key not found",
            Error::DuplicateKey => "etcdserver: duplicate key given in txn request",
            Error::TooManyOperations => "etcdserver: too many operations in txn request",
            Error::Compacted => "etcdserver: mvcc: required revision has been compacted",
            Error::FutureRevision => "etcdserver: mvcc: required revision is a future revision",
            Error::LeaseNotFound => "etcdserver: requested lease not found",
            Error::LeaseExists => "etcdserver: lease already exists",
            Error::TtlTooLarge => "etcdserver: too large lease TTL",
            Error::NoSpace => "etcdserver: mvcc: database space exceeded",
            Error::AccessDisabled => "etcdserver: authentication is not enabled",
            Error::UserEmpty => "etcdserver: user name is empty",
            Error::UserExists => "etcdserver: user name already exists",
            Error::UserNotFound => "etcdserver: user name not found",
            Error::RoleEmpty => "etcdserver: role name is empty",
            Error::RoleExists => "etcdserver: role name already exists",
            Error::RoleNotFound => "etcdserver: role name not found",
            Error::RoleNotGranted => "etcdserver: role is not granted to the user",
            Error::PermissionNotGranted => "etcdserver: permission is not granted to the role",
            Error::PermissionDenied => "etcdserver: permission denied",
            Error::RootUserMissing => "etcdserver: root user does not exist",
            Error::RootRoleMissing => "etcdserver: root user does not have root role",
            Error::AccessWouldBeLost => "etcdserver: invalid auth management",
        }
    }

    /// Returns the status code of gRPC.
    pub const fn code(self) -> Code {
        match self {
            Error::EmptyKey
            | Error::ValueProvided
            | Error::LeaseProvided
            | Error::KeyNotFound
            | Error::DuplicateKey
            | Error::TooManyOperations
            | Error::UserEmpty
            | Error::RoleEmpty
            | Error::AccessWouldBeLost => Code::InvalidArgument,
            Error::LeaseNotFound => Code::NotFound,
            Error::LeaseExists
            | Error::AccessDisabled
            | Error::UserExists
            | Error::UserNotFound
            | Error::RoleExists
            | Error::RoleNotFound
            | Error::RoleNotGranted
            | Error::PermissionNotGranted
            | Error::RootUserMissing
            | Error::RootRoleMissing => Code::FailedPrecondition,
            Error::PermissionDenied => Code::PermissionDenied,
            Error::Compacted | Error::FutureRevision | Error::TtlTooLarge => Code::OutOfRange,
            Error::NoSpace => Code::ResourceExhausted,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for Error {}
