//! Tests of users and permissions. Log entries change the users and permissions, so a change
//! affects only the later entries of the log.

use tenure_store::{
    AccessChange, AcquireLock, Bytes, Command, CommandResult, Delete, Error, KeySpan, LockMode,
    Permission, Principal, Put, RangeRead, Txn, TxnOperation,
};

use crate::log::Log;

impl Log {
    fn change(&mut self, change: AccessChange) -> Result<CommandResult, Error> {
        self.apply(Command::Access(change)).result
    }

    /// Returns a log in which authentication is enabled. Also returns a user who has `permission`
    /// on the prefix `a/`.
    fn with(permission: Permission) -> (Self, Principal) {
        let mut log = Log::new();
        let (bob, root, role) = (String::from("bob"), String::from("root"), String::from("a"));
        for change in [
            AccessChange::AddUser { name: root.clone(), password: Bytes::default() },
            AccessChange::AddUser { name: bob.clone(), password: Bytes::default() },
            AccessChange::GrantRole { user: root.clone(), role: root },
            AccessChange::AddRole { name: role.clone() },
            AccessChange::Grant { role: role.clone(), span: KeySpan::prefix("a/"), permission },
            AccessChange::GrantRole { user: bob.clone(), role },
            AccessChange::Enable { secret: Bytes::from("key") },
        ] {
            assert_eq!(log.change(change), Ok(CommandResult::AccessChanged));
        }
        (log, Principal::User(bob))
    }
}

fn put(key: &str) -> Put {
    Put { key: key.into(), ..Put::default() }
}

#[test]
fn missing_permission_changes_nothing() {
    let (mut log, bob) = Log::with(Permission::Write);
    let eve = Principal::User("eve".into());
    let before = log.store.clone();
    for (principal, key, why) in [
        (&bob, "b", Error::PermissionDenied),
        (&eve, "a/1", Error::PermissionDenied),
        (&Principal::Anonymous, "a/1", Error::UserEmpty),
    ] {
        let outcome = log.apply_as(principal, Command::Put(put(key)));
        assert_eq!((outcome.result, outcome.events.len()), (Err(why), 0), "{key}");
    }
    // Returning the previous value requires the read permission.
    let prev = Command::Put(Put { prev_kv: true, ..put("a/1") });
    assert_eq!(log.apply_as(&bob, prev).result, Err(Error::PermissionDenied));
    let delete = Delete { span: KeySpan::prefix("a"), prev_kv: false };
    assert_eq!(log.apply_as(&bob, Command::Delete(delete)).result, Err(Error::PermissionDenied));
    // All branches of a transaction are checked.
    let failure = vec![TxnOperation::Range(RangeRead::at_current_revision(KeySpan::single("a/1")))];
    let txn = Txn { compare: vec![], success: vec![TxnOperation::Put(put("a/1"))], failure };
    assert_eq!(log.apply_as(&bob, Command::Txn(txn)).result, Err(Error::PermissionDenied));
    let access = Command::Access(AccessChange::Disable);
    assert_eq!(log.apply_as(&bob, access).result, Err(Error::PermissionDenied));
    assert_eq!((log.store.revision(), log.store.len()), (before.revision(), 0));
    assert_eq!(log.store.access_control(), before.access_control());
    assert!(log.apply_as(&bob, Command::Put(put("a/1"))).result.is_ok());
}

#[test]
fn user_without_password_never_gets_one() {
    let (mut log, _) = Log::with(Permission::ReadWrite);
    let (name, password) = (String::from("eve"), Bytes::from("one"));
    assert!(log.change(AccessChange::AddUser { name, password }).is_ok());
    for (name, kept) in [("bob", ""), ("eve", "two")] {
        let (name, password) = (String::from(name), Bytes::from("two"));
        let change = AccessChange::ChangePassword { name: name.clone(), password };
        assert_eq!(log.change(change), Ok(CommandResult::AccessChanged));
        let user = log.store.access_control().user(&name).expect("a user");
        assert_eq!(user.password, Bytes::from(kept), "{name}");
    }
}

#[test]
fn deleted_user_is_rejected() {
    let (mut log, bob) = Log::with(Permission::ReadWrite);
    assert!(log.apply_as(&bob, Command::Grant { lease: 7, ttl: 10 }).result.is_ok());
    assert_eq!(log.store.access_control().authenticated_user(&bob), Ok(Some("bob")));
    assert!(log.change(AccessChange::DeleteUser { name: "bob".into() }).is_ok());
    assert_eq!(log.store.access_control().authenticated_user(&bob), Err(Error::PermissionDenied));
    for command in [
        Command::Grant { lease: 8, ttl: 10 },
        Command::Revoke { lease: 7 },
        Command::Compact { revision: 1 },
        Command::Txn(Txn::default()),
    ] {
        let answer = log.apply_as(&bob, command.clone()).result;
        assert_eq!(answer, Err(Error::PermissionDenied), "{command:?}");
    }
}

#[test]
fn permissions_apply_in_log_order() {
    let (mut log, bob) = Log::with(Permission::ReadWrite);
    assert!(log.apply_as(&bob, Command::Put(put("a/1"))).result.is_ok());
    let revoke = AccessChange::Revoke { role: "a".into(), span: KeySpan::prefix("a/") };
    assert_eq!(log.change(revoke.clone()), Ok(CommandResult::AccessChanged));
    assert_eq!(log.apply_as(&bob, Command::Put(put("a/1"))).result, Err(Error::PermissionDenied));
    assert_eq!(log.change(revoke), Err(Error::PermissionNotGranted));
    let lost = AccessChange::DeleteUser { name: "root".into() };
    assert_eq!(log.change(lost), Err(Error::AccessWouldBeLost));
    assert_eq!(log.change(AccessChange::Disable), Ok(CommandResult::AccessChanged));
    assert!(log.apply_as(&Principal::Anonymous, Command::Put(put("a/1"))).result.is_ok());
}

#[test]
fn enqueue_requires_read_and_write_permission() {
    for (permission, name, may) in [
        (Permission::ReadWrite, "a/lock", true),
        (Permission::Write, "a/lock", false),
        (Permission::Read, "a/lock", false),
        (Permission::ReadWrite, "b/lock", false),
    ] {
        let (mut log, bob) = Log::with(permission);
        assert!(log.apply_as(&bob, Command::Grant { lease: 7, ttl: 10 }).result.is_ok());
        let (mode, value) = (LockMode::Exclusive, Bytes::default());
        let enqueue = AcquireLock { name: name.into(), lease: 7, mode, value };
        let answer = log.apply_as(&bob, Command::AcquireLock(enqueue)).result;
        assert_eq!(answer.is_ok(), may, "{permission:?} {name}: {answer:?}");
    }
}

#[test]
fn revocation_and_compaction_require_permission_and_expiry_does_not() {
    let (mut log, bob) = Log::with(Permission::ReadWrite);
    let root = Principal::User("root".into());
    assert!(log.apply_as(&root, Command::Grant { lease: 7, ttl: 10 }).result.is_ok());
    let put = Put { lease: 7, ..put("b") };
    assert!(log.apply_as(&root, Command::Put(put)).result.is_ok());
    let revoke = Command::Revoke { lease: 7 };
    assert_eq!(log.apply_as(&bob, revoke.clone()).result, Err(Error::PermissionDenied));
    let compact = Command::Compact { revision: 2 };
    assert_eq!(log.apply_as(&bob, compact.clone()).result, Err(Error::PermissionDenied));
    assert_eq!(log.apply_as(&root, compact).result, Ok(CommandResult::Compacted));
    let expire = Command::Expire { term: 1, leases: vec![] };
    assert_eq!(log.apply_as(&bob, expire.clone()).result, Err(Error::PermissionDenied));
    assert!(log.apply_as(&Principal::Member, expire).result.is_ok());
    assert!(log.apply_as(&root, revoke).result.is_ok());
}

#[test]
fn attaching_a_key_requires_permission_to_end_the_lease() {
    let (mut log, bob) = Log::with(Permission::ReadWrite);
    let root = Principal::User("root".into());
    for (lease, key) in [(7, "b"), (8, "a/1")] {
        assert!(log.apply_as(&root, Command::Grant { lease, ttl: 10 }).result.is_ok());
        assert!(log.apply_as(&root, Command::Put(Put { lease, ..put(key) })).result.is_ok());
    }
    let writes = |lease| {
        let put = Put { lease, ..put("a/2") };
        let write = |put| Txn { success: vec![TxnOperation::Put(put)], ..Txn::default() };
        let nested = Txn { failure: vec![TxnOperation::Txn(write(put.clone()))], ..Txn::default() };
        let (mode, value) = (LockMode::Exclusive, Bytes::default());
        let enqueue = AcquireLock { name: "a/lock".into(), lease, mode, value };
        [
            Command::Txn(write(put.clone())),
            Command::Txn(nested),
            Command::Put(put),
            Command::AcquireLock(enqueue),
        ]
    };
    for command in writes(7) {
        let answer = log.apply_as(&bob, command.clone()).result;
        assert_eq!(answer, Err(Error::PermissionDenied), "{command:?}");
    }
    for command in writes(8) {
        let answer = log.apply_as(&bob, command.clone()).result;
        assert!(answer.is_ok(), "{command:?}: {answer:?}");
    }
    let gone = log.apply_as(&bob, Command::Put(Put { lease: 9, ..put("a/2") }));
    assert_eq!(gone.result, Err(Error::LeaseNotFound));
    assert!(log.apply_as(&bob, Command::Revoke { lease: 8 }).result.is_ok());
}

#[test]
fn renewal_requires_write_and_listing_requires_read() {
    for (permission, may_renew, may_list) in [
        (Permission::Read, false, true),
        (Permission::Write, true, false),
        (Permission::ReadWrite, true, true),
    ] {
        let (mut log, bob) = Log::with(permission);
        let root = Principal::User("root".into());
        let may = |log: &Log, principal: &Principal| {
            let store = &log.store;
            (
                store.authorize_renewal(principal, 7).is_ok(),
                store.authorize_lease_list(principal).is_ok(),
            )
        };
        assert!(log.apply_as(&root, Command::Grant { lease: 7, ttl: 10 }).result.is_ok());
        assert_eq!(may(&log, &bob), (true, true), "no key is attached");
        assert!(log.apply_as(&root, Command::Put(Put { lease: 7, ..put("a/1") })).result.is_ok());
        assert_eq!(may(&log, &bob), (may_renew, may_list), "{permission:?}");
        assert!(log.apply_as(&root, Command::Put(Put { lease: 7, ..put("b") })).result.is_ok());
        assert_eq!(may(&log, &bob), (false, false), "{permission:?}");
        assert_eq!(may(&log, &root), (true, true));
        assert_eq!(may(&log, &Principal::Anonymous), (false, false));
        assert!(log.store.authorize_renewal(&bob, 8).is_ok(), "there is no such lease");
    }
}
