//! Why a request is refused, in the words that clients of etcd know.

use core::fmt;

/// Why a request is refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Error {
    /// No key was given.
    EmptyKey,
    /// A value was given though the one that is there should be kept.
    ValueProvided,
    /// A lease was given though the one that is there should be kept.
    LeaseProvided,
    /// What should be kept is not there.
    KeyNotFound,
    /// A transaction would write a key twice.
    DuplicateKey,
    /// A transaction has more operations than one may have.
    TooManyOperations,
    /// The revision is older than what is kept.
    Compacted,
    /// The revision is yet to come.
    FutureRevision,
    /// No such lease; it may have been one.
    LeaseNotFound,
    /// There is a lease of this name.
    LeaseExists,
    /// A lease would last too long.
    TtlTooLarge,
    /// The store has reached its quota, and the command would add to it.
    NoSpace,
    /// Nobody has to say who they are.
    AccessDisabled,
    /// A user has no name, or whoever asks does not say theirs.
    UserEmpty,
    /// There is a user of this name.
    UserExists,
    /// There is no user of this name.
    UserNotFound,
    /// A role has no name.
    RoleEmpty,
    /// There is a role of this name.
    RoleExists,
    /// There is no role of this name.
    RoleNotFound,
    /// A user does not have this role.
    RoleNotGranted,
    /// A role was not granted this.
    PermissionNotGranted,
    /// Whoever asks may not have it done.
    PermissionDenied,
    /// Nobody could change users and roles afterwards.
    RootUserMissing,
    /// Whoever should change users and roles might not.
    RootRoleMissing,
    /// Nobody could change users and roles afterwards, who have to be somebody now.
    AccessWouldBeLost,
}

/// The code of gRPC under which an error is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request can never be served.
    InvalidArgument,
    /// What it is about does not exist.
    NotFound,
    /// What it would make exists.
    FailedPrecondition,
    /// Whoever asks may not.
    PermissionDenied,
    /// A number lies outside of what there is.
    OutOfRange,
    /// A limit is reached.
    ResourceExhausted,
}

impl Error {
    /// All of them.
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

    /// The words of etcd, which clients compare.
    pub const fn words(self) -> &'static str {
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

    /// The code of gRPC that goes with them.
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
        f.write_str(self.words())
    }
}

impl core::error::Error for Error {}
