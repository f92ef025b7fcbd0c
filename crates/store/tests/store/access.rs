//! Users and rights: what counts is what they are at the place of a command in the log.

use tenure_store::{
    Answer, Asker, At, Bytes, Change, Command, Delete, Enqueue, Error, Operation, Outcome, Put,
    Range, Rights, Share, Span, Store, Txn,
};

struct Log {
    store: Store,
    index: u64,
}

impl Log {
    fn new() -> Self {
        Log { store: Store::default(), index: 0 }
    }

    fn take(&mut self, asker: &Asker, command: Command) -> Outcome {
        self.index += 1;
        self.store.apply_for(At { index: self.index, term: 1 }, asker, command)
    }

    fn change(&mut self, change: Change) -> Result<Answer, Error> {
        self.take(&Asker::Member, Command::Access(change)).answer
    }

    /// A user, who may do something with all that begins with `a/`, once names count.
    fn with(rights: Rights) -> (Self, Asker) {
        let mut log = Log::new();
        let (bob, root, role) = (String::from("bob"), String::from("root"), String::from("a"));
        for change in [
            Change::AddUser { name: root.clone(), password: Bytes::default() },
            Change::AddUser { name: bob.clone(), password: Bytes::default() },
            Change::GrantRole { user: root.clone(), role: root },
            Change::AddRole { name: role.clone() },
            Change::Grant { role: role.clone(), span: Span::prefix("a/"), rights },
            Change::GrantRole { user: bob.clone(), role },
            Change::Enable { secret: Bytes::from("key") },
        ] {
            assert_eq!(log.change(change), Ok(Answer::Access));
        }
        (log, Asker::User(bob))
    }
}

fn put(key: &str) -> Put {
    Put { key: key.into(), ..Put::default() }
}

#[test]
fn who_has_no_right_changes_nothing() {
    let (mut log, bob) = Log::with(Rights::Write);
    let eve = Asker::User("eve".into());
    let before = log.store.clone();
    for (asker, key, why) in [
        (&bob, "b", Error::PermissionDenied),
        (&eve, "a/1", Error::PermissionDenied),
        (&Asker::Anybody, "a/1", Error::UserEmpty),
    ] {
        let outcome = log.take(asker, Command::Put(put(key)));
        assert_eq!((outcome.answer, outcome.events.len()), (Err(why), 0), "{key}");
    }
    // To see what was there is to read.
    let prev = Command::Put(Put { prev_kv: true, ..put("a/1") });
    assert_eq!(log.take(&bob, prev).answer, Err(Error::PermissionDenied));
    let delete = Delete { span: Span::prefix("a"), prev_kv: false };
    assert_eq!(log.take(&bob, Command::Delete(delete)).answer, Err(Error::PermissionDenied));
    // What a transaction may do counts, whether it does it or not.
    let failure = vec![Operation::Range(Range::of(Span::one("a/1")))];
    let txn = Txn { compare: vec![], success: vec![Operation::Put(put("a/1"))], failure };
    assert_eq!(log.take(&bob, Command::Txn(txn)).answer, Err(Error::PermissionDenied));
    let access = Command::Access(Change::Disable);
    assert_eq!(log.take(&bob, access).answer, Err(Error::PermissionDenied));
    assert_eq!((log.store.revision(), log.store.len()), (before.revision(), 0));
    assert_eq!(log.store.access(), before.access());
    assert!(log.take(&bob, Command::Put(put("a/1"))).answer.is_ok());
}

#[test]
fn who_was_made_without_a_password_has_none_later() {
    let (mut log, _) = Log::with(Rights::Both);
    let (name, password) = (String::from("eve"), Bytes::from("one"));
    assert!(log.change(Change::AddUser { name, password }).is_ok());
    for (name, kept) in [("bob", ""), ("eve", "two")] {
        let (name, password) = (String::from(name), Bytes::from("two"));
        let change = Change::ChangePassword { name: name.clone(), password };
        assert_eq!(log.change(change), Ok(Answer::Access));
        let user = log.store.access().user(&name).expect("a user");
        assert_eq!(user.password, Bytes::from(kept), "{name}");
    }
}

#[test]
fn who_is_deleted_does_nothing_more() {
    let (mut log, bob) = Log::with(Rights::Both);
    assert!(log.take(&bob, Command::Grant { lease: 7, ttl: 10 }).answer.is_ok());
    assert_eq!(log.store.access().named(&bob), Ok(Some("bob")));
    assert!(log.change(Change::DeleteUser { name: "bob".into() }).is_ok());
    assert_eq!(log.store.access().named(&bob), Err(Error::PermissionDenied));
    for command in [
        Command::Grant { lease: 8, ttl: 10 },
        Command::Revoke { lease: 7 },
        Command::Compact { revision: 1 },
        Command::Txn(Txn::default()),
    ] {
        let answer = log.take(&bob, command.clone()).answer;
        assert_eq!(answer, Err(Error::PermissionDenied), "{command:?}");
    }
}

#[test]
fn a_right_counts_at_its_place_in_the_log() {
    let (mut log, bob) = Log::with(Rights::Both);
    assert!(log.take(&bob, Command::Put(put("a/1"))).answer.is_ok());
    let revoke = Change::Revoke { role: "a".into(), span: Span::prefix("a/") };
    assert_eq!(log.change(revoke.clone()), Ok(Answer::Access));
    assert_eq!(log.take(&bob, Command::Put(put("a/1"))).answer, Err(Error::PermissionDenied));
    assert_eq!(log.change(revoke), Err(Error::PermissionNotGranted));
    let lost = Change::DeleteUser { name: "root".into() };
    assert_eq!(log.change(lost), Err(Error::AccessWouldBeLost));
    assert_eq!(log.change(Change::Disable), Ok(Answer::Access));
    assert!(log.take(&Asker::Anybody, Command::Put(put("a/1"))).answer.is_ok());
}

#[test]
fn whoever_queues_may_write_the_claim_and_see_the_queue() {
    for (rights, name, may) in [
        (Rights::Both, "a/lock", true),
        (Rights::Write, "a/lock", false),
        (Rights::Read, "a/lock", false),
        (Rights::Both, "b/lock", false),
    ] {
        let (mut log, bob) = Log::with(rights);
        assert!(log.take(&bob, Command::Grant { lease: 7, ttl: 10 }).answer.is_ok());
        let (share, value) = (Share::Exclusive, Bytes::default());
        let enqueue = Enqueue { name: name.into(), lease: 7, share, value };
        let answer = log.take(&bob, Command::Enqueue(enqueue)).answer;
        assert_eq!(answer.is_ok(), may, "{rights:?} {name}: {answer:?}");
    }
}

#[test]
fn a_lease_ends_by_itself_and_by_who_may_write_its_keys() {
    let (mut log, bob) = Log::with(Rights::Both);
    let root = Asker::User("root".into());
    assert!(log.take(&root, Command::Grant { lease: 7, ttl: 10 }).answer.is_ok());
    let put = Put { lease: 7, ..put("b") };
    assert!(log.take(&root, Command::Put(put)).answer.is_ok());
    let revoke = Command::Revoke { lease: 7 };
    assert_eq!(log.take(&bob, revoke.clone()).answer, Err(Error::PermissionDenied));
    let expire = Command::Expire { term: 1, leases: vec![] };
    assert_eq!(log.take(&bob, expire.clone()).answer, Err(Error::PermissionDenied));
    assert!(log.take(&Asker::Member, expire).answer.is_ok());
    assert!(log.take(&root, revoke).answer.is_ok());
}

#[test]
fn nobody_gives_a_key_to_a_lease_that_they_may_not_end() {
    let (mut log, bob) = Log::with(Rights::Both);
    let root = Asker::User("root".into());
    for (lease, key) in [(7, "b"), (8, "a/1")] {
        assert!(log.take(&root, Command::Grant { lease, ttl: 10 }).answer.is_ok());
        assert!(log.take(&root, Command::Put(Put { lease, ..put(key) })).answer.is_ok());
    }
    let writes = |lease| {
        let put = Put { lease, ..put("a/2") };
        let write = |put| Txn { success: vec![Operation::Put(put)], ..Txn::default() };
        let nested = Txn { failure: vec![Operation::Txn(write(put.clone()))], ..Txn::default() };
        let (share, value) = (Share::Exclusive, Bytes::default());
        let enqueue = Enqueue { name: "a/lock".into(), lease, share, value };
        [
            Command::Txn(write(put.clone())),
            Command::Txn(nested),
            Command::Put(put),
            Command::Enqueue(enqueue),
        ]
    };
    for command in writes(7) {
        let answer = log.take(&bob, command.clone()).answer;
        assert_eq!(answer, Err(Error::PermissionDenied), "{command:?}");
    }
    for command in writes(8) {
        let answer = log.take(&bob, command.clone()).answer;
        assert!(answer.is_ok(), "{command:?}: {answer:?}");
    }
    let gone = log.take(&bob, Command::Put(Put { lease: 9, ..put("a/2") }));
    assert_eq!(gone.answer, Err(Error::LeaseNotFound));
    assert!(log.take(&bob, Command::Revoke { lease: 8 }).answer.is_ok());
}

#[test]
fn leases_are_renewed_by_writers_and_listed_by_readers_of_their_keys() {
    for (rights, may_renew, may_list) in
        [(Rights::Read, false, true), (Rights::Write, true, false), (Rights::Both, true, true)]
    {
        let (mut log, bob) = Log::with(rights);
        let root = Asker::User("root".into());
        let may = |log: &Log, asker: &Asker| {
            let store = &log.store;
            (store.may_renew(asker, 7).is_ok(), store.may_list_leases(asker).is_ok())
        };
        assert!(log.take(&root, Command::Grant { lease: 7, ttl: 10 }).answer.is_ok());
        assert_eq!(may(&log, &bob), (true, true), "no key ends with it");
        assert!(log.take(&root, Command::Put(Put { lease: 7, ..put("a/1") })).answer.is_ok());
        assert_eq!(may(&log, &bob), (may_renew, may_list), "{rights:?}");
        assert!(log.take(&root, Command::Put(Put { lease: 7, ..put("b") })).answer.is_ok());
        assert_eq!(may(&log, &bob), (false, false), "{rights:?}");
        assert_eq!(may(&log, &root), (true, true));
        assert_eq!(may(&log, &Asker::Anybody), (false, false));
        assert!(log.store.may_renew(&bob, 8).is_ok(), "there is no such lease");
    }
}
