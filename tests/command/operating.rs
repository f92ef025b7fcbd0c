//! Tests of the operation of a lock service: backups, members, holders and waiting clients.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hold::{LONG, signal, until};
use crate::member::Member;
use crate::member_list::listed;
use crate::shell::{assert_fails_with, assert_refused, data, tenure, text};

impl Member {
    /// Repeats a request until the member responds without an error, and returns the response.
    pub(crate) fn ask(&self, path: &str, body: &Value) -> Value {
        let until = Instant::now() + LONG;
        loop {
            let response = self.post(path, &body.to_string()).unwrap_or_default();
            let (_, answer) = response.split_once("\r\n\r\n").unwrap_or_default();
            match serde_json::from_str::<Value>(answer) {
                Ok(answer) if answer.get("error").is_none() => return answer,
                _ => assert!(Instant::now() < until, "{path} {body}: {response}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Acquires lock `jobs` with a new lease and releases it. Returns its fencing token.
    fn fence(&self) -> u64 {
        let (lease, key) = self.lock();
        let found = self.ask("/v3/kv/range", &json!({ "key": key }));
        let fence = found["kvs"][0]["create_revision"].as_str().expect("a revision");
        self.ask("/v3/lease/revoke", &json!({ "ID": lease }));
        fence.parse().expect("a number")
    }

    /// Acquires lock `jobs`. Returns the lease and the key of the claim.
    fn lock(&self) -> (Value, Value) {
        let lease = self.ask("/v3/lease/grant", &json!({ "TTL": 600 }))["ID"].clone();
        let held = self.ask("/v3/lock/lock", &json!({ "name": "am9icw==", "lease": lease }));
        (lease, held["key"].clone())
    }

    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }
}

#[test]
fn restored_cluster_assigns_no_fence_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let member = Member::start(&format!("--data-dir {}", at("old")));
    let before = member.fence();
    let line = format!("snapshot save {} --endpoints http://{}", at("backup"), member.address);
    let saved = data(&line, 0);
    assert_eq!(saved["keys"], 0, "{saved}");
    assert_eq!(saved, data(&format!("snapshot status {}", at("backup")), 0));
    // Acquires the lock after the backup. A restored member has lost these changes, but never
    // assigns their fencing tokens again.
    let last = (0..3).map(|_| member.fence()).max().expect("a fence");
    assert!(last > before);
    member.kill();
    let restored = |name: &str, options: &str| {
        let to = at(name);
        text(&format!("snapshot restore {} --data-dir {to} {options}", at("backup")), 0);
        let member = Member::start(&format!("--data-dir {to}"));
        member.fence()
    };
    assert!(restored("new", "") > last);
    assert!(restored("as-it-was", "--bump-revision 0") <= last, "the control");
    // An existing directory is not overwritten.
    let again = format!("snapshot restore {} --data-dir {}", at("backup"), at("new"));
    assert_refused(&again, &["needs a new directory"]);
    // A restore to a revision above 2^62 is rejected, because later fencing tokens could overflow.
    for bump in [u64::MAX, 1 << 63, 1 << 62] {
        let options = format!("--data-dir {} --bump-revision {bump}", at("beyond"));
        let refused = tenure(&format!("snapshot restore {} {options}", at("backup")));
        assert_fails_with(&refused, 2, "2^62");
    }
    // A damaged backup is rejected.
    let mut bytes = std::fs::read(at("backup")).expect("the backup");
    bytes[100] ^= 1;
    for (damaged, message) in [(&bytes[..], "is damaged"), (&bytes[..20], "is damaged")] {
        std::fs::write(at("damaged"), damaged).expect("room");
        assert_fails_with(&tenure(&format!("snapshot status {}", at("damaged"))), 2, message);
    }
}

/// Returns true if only the owner may read the file or folder, which may contain signing keys.
fn is_private(path: &Path) -> bool {
    let mode = std::fs::metadata(path).expect("it is there").permissions().mode();
    mode & 0o077 == 0
}

/// Saves backups while the path of the temporary file is taken: by a file that all users may read,
/// and by a symbolic link to a file of another program.
#[test]
fn backup_replaces_what_is_left_at_its_temporary_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let member = Member::start(&format!("--data-dir {}", at("data").display()));
    std::fs::write(at("readable.part"), "").expect("room");
    let permissions = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(at("readable.part"), permissions).expect("the owner");
    std::fs::write(at("foreign"), "foreign").expect("room");
    std::os::unix::fs::symlink(at("foreign"), at("linked.part")).expect("a link");
    for name in ["readable", "linked"] {
        let backup = at(name);
        let endpoint = format!("http://{}", member.address);
        let save = format!("snapshot save {} --endpoints {endpoint}", backup.display());
        text(&save, 0);
        let metadata = std::fs::symlink_metadata(&backup).expect("the backup");
        assert!(metadata.is_file() && is_private(&backup), "{name}: {metadata:?}");
    }
    assert_eq!(std::fs::read(at("foreign")).expect("a file"), b"foreign");
}

#[test]
fn interrupted_restore_leaves_no_servable_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let member = Member::start(&format!("--data-dir {}", at("old").display()));
    let value = "x".repeat(64 << 10);
    member.ask("/v3/kv/put", &json!({ "key": "YQ==", "value": value }));
    let backup = at("backup").display().to_string();
    text(&format!("snapshot save {backup} --endpoints http://{}", member.address), 0);
    assert!([at("old"), at("old/state"), at("backup")].iter().all(|path| is_private(path)));
    let restore = format!("snapshot restore {backup} --data-dir {}", at("new").display());
    // Limits files to 16 KiB, so that a signal ends the restore before it is complete.
    let program = env!("CARGO_BIN_EXE_tenure");
    let line = format!("ulimit -f 16; exec {program} {restore}");
    let ended = Command::new("bash").args(["-c", &line]).output().expect("bash");
    assert_eq!(ended.status.code(), None, "{ended:?}");
    assert!(!at("new").exists() && at("new.part").exists());
    assert_fails_with(&tenure(&restore), 2, "is left over from an interrupted restore");
    std::fs::remove_dir_all(at("new.part")).expect("the remaining directory");
    text(&restore, 0);
    let member = Member::start(&format!("--data-dir {}", at("new").display()));
    assert_eq!(member.ask("/v3/kv/range", &json!({ "key": "YQ==" }))["count"], "1");
}

/// An incomplete file would prevent the next attempt, because existing files are never changed.
#[test]
fn failed_write_leaves_no_incomplete_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display();
    for (line, file) in [
        (format!("keys new --nodes 3 --to {place}"), "p1.key"),
        (format!("choose --crashes no -n 2 --output {place}/node.toml"), "node.toml"),
    ] {
        // Without the signal, a write beyond the limit fails as on a full disk.
        let program = env!("CARGO_BIN_EXE_tenure");
        let limited = format!("trap '' XFSZ; ulimit -f 0; exec {program} {line}");
        let failed = Command::new("bash").args(["-c", &limited]).output().expect("bash");
        assert!(failed.status.code().is_some_and(|code| code > 0), "{failed:?}");
        assert!(String::from_utf8_lossy(&failed.stderr).contains(file), "{failed:?}");
        assert!(!folder.path().join(file).exists(), "{line}");
        text(&line, 0);
    }
}

#[test]
fn three_members_start_from_one_backup() {
    let folder = tempfile::tempdir().expect("a folder");
    let backup = folder.path().join("backup").display().to_string();
    let alone = Member::start(&format!("--data-dir {}", folder.path().join("old").display()));
    alone.ask("/v3/kv/put", &json!({ "key": "YQ==", "value": "MQ==" }));
    text(&format!("snapshot save {backup} --endpoints {}", alone.address), 0);
    let three = Three::of(folder.path());
    for name in ["a", "b", "c"] {
        let (data, cluster) = (three.data(name), &three.cluster);
        let to = format!("--name {name} --data-dir {data} --initial-cluster {cluster}");
        text(&format!("snapshot restore {backup} {to}"), 0);
    }
    for member in &["a", "b", "c"].map(|name| three.start(name, "new")) {
        let found = member.ask("/v3/kv/range", &json!({ "key": "YQ==" }));
        assert_eq!(found["kvs"][0]["value"], "MQ==");
    }
}

pub(crate) struct Three {
    folder: std::path::PathBuf,
    cluster: String,
    urls: [String; 3],
}

impl Three {
    pub(crate) fn of(folder: &Path) -> Three {
        let urls = [(); 3].map(|()| format!("http://{}", tenure_runtime::ports::reserve_address()));
        let named = ["a", "b", "c"].iter().zip(&urls).map(|(name, url)| format!("{name}={url}"));
        let cluster = named.collect::<Vec<_>>().join(",");
        Three { folder: folder.to_owned(), cluster, urls }
    }

    fn data(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn options(&self, name: &str, options: &str) -> String {
        let (data, cluster) = (self.data(name), &self.cluster);
        format!("--name {name} --data-dir {data} --initial-cluster {cluster} {options}")
    }

    pub(crate) fn start(&self, name: &str, state: &str) -> Member {
        Member::start(&self.options(name, &format!("--initial-cluster-state {state}")))
    }

    /// Starts a member whose log goes to a file. Returns the member and the path of the file.
    fn start_logging(&self, name: &str, options: &str) -> (Member, PathBuf) {
        let log = self.folder.join(format!("{name}.log"));
        let mut command = Member::command(&self.options(name, options));
        let file = File::create(&log).expect("room");
        (Member::started_by(command.stderr(file)), log)
    }
}

fn lines_with(log: &Path, words: &str) -> Vec<String> {
    let log = fs::read_to_string(log).expect("a log");
    log.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
}

#[test]
fn service_manager_does_not_wait_for_a_leader() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("manager");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(LONG)).expect("a time limit");
    let notification = || {
        let mut bytes = [0; 256];
        let length = manager.recv(&mut bytes).expect("a notification");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let three = Three::of(folder.path());
    let mut command = Member::command(&three.options("a", ""));
    let mut alone = Member::started_by(command.env("NOTIFY_SOCKET", &path).stderr(Stdio::null()));
    assert_eq!(notification(), "READY=1\nSTATUS=no leader yet");
    let _second = three.start("b", "new");
    let is_led = |it: &str| it.starts_with("STATUS=") && it.contains(" leads in term ");
    while !is_led(&notification()) {}
    assert!(signal("-TERM", &alone.process.id().to_string()));
    while notification() != "STOPPING=1" {}
    assert_eq!(alone.process.wait().expect("an end").code(), Some(0));
}

#[test]
fn directory_of_another_member_or_cluster_is_rejected_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let backup = folder.path().join("backup").display().to_string();
    let alone = Member::start(&format!("--data-dir {}", folder.path().join("old").display()));
    // Acquires a lock, which succeeds only once the member has a leader.
    alone.fence();
    text(&format!("snapshot save {backup} --endpoints {}", alone.address), 0);
    let three = Three::of(folder.path());
    let (data, cluster) = (three.data("b"), &three.cluster);
    let options = format!("--data-dir {data} --initial-cluster {cluster}");
    let token = "--initial-cluster-token morning";
    let restored = text(&format!("snapshot restore {backup} {options} --name b {token}"), 0);
    assert!(restored.ends_with(&format!("\nstart it with {token}\n")), "{restored}");
    let serve =
        format!("serve --listen-client-urls http://127.0.0.1:0 --log-level error {options}");
    for (given, remedy) in [
        ("--name b".to_owned(), format!("start it with {token}, or give another --data-dir")),
        (format!("--name a {token}"), "give each member its own --data-dir".to_owned()),
    ] {
        let rejected = tenure(&format!("{serve} {given}"));
        assert_fails_with(&rejected, 2, &remedy);
        assert_fails_with(&rejected, 2, " belongs to member b in the cluster \"morning ");
    }
}

#[test]
fn damaged_directory_is_rejected_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let alone = folder.path().join("alone").display().to_string();
    let member = Member::start(&format!("--data-dir {alone}"));
    member.fence();
    member.kill();
    three.start("b", "new").kill();
    let (data, cluster) = (three.data("b"), &three.cluster);
    let replace = format!(
        "`tenure member remove b`, start it with an empty directory and --initial-cluster-state \
         existing, `tenure member add {}`",
        three.urls[1]
    );
    // Deletes the only file of the log, which contains the last change.
    let newest = Path::new(&alone).join("log-0000000001");
    let content = fs::read(&newest).expect("a file");
    fs::remove_file(&newest).expect("a file");
    let serve = "serve --listen-client-urls http://127.0.0.1:0 --data-dir";
    let rejected = tenure(&format!("{serve} {alone}"));
    assert_fails_with(&rejected, 4, "log-0000000001 is damaged: it was deleted; keep a copy");
    fs::write(&newest, content).expect("room");
    for (directory, options, remedy) in [
        (&alone, String::new(), "`tenure snapshot restore`"),
        (&data, format!("--name b --initial-cluster {cluster}"), &*replace),
    ] {
        let file = Path::new(directory).join("state");
        let mut state = fs::read(&file).expect("a state file");
        *state.last_mut().expect("a checksum") ^= 1;
        fs::write(&file, state).expect("room");
        let rejected = tenure(&format!("{serve} {directory} {options}"));
        assert_fails_with(&rejected, 4, remedy);
    }
}

#[test]
fn member_of_another_cluster_is_told_the_options_to_compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let _members = ["a", "b"].map(|name| three.start(name, "new"));
    let (data, cluster) = (three.data("c"), &three.cluster);
    let rejected = tenure(&format!(
        "serve --listen-client-urls http://127.0.0.1:0 --name c --data-dir {data} \
         --initial-cluster {cluster} --initial-cluster-token evening"
    ));
    let report = String::from_utf8_lossy(&rejected.stderr);
    let remedy =
        "no majority; compare --initial-cluster-token and --initial-cluster of all members";
    assert_eq!(rejected.status.code(), Some(5), "{report}");
    assert!(report.trim_end().ends_with(remedy), "{report}");
}

/// Runs a command that changes the members. Afterwards, returns the name of each member, and true
/// if the member is a learner.
fn members(line: &str) -> Vec<(String, bool)> {
    names(&data(line, 0))
}

/// Returns the name of each member in a report, and true if the member is a learner.
fn names(report: &Value) -> Vec<(String, bool)> {
    let members = report["members"].as_array().expect("members").clone();
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    members.iter().map(|it| (name(it), it["learner"] == true)).collect()
}

#[test]
fn member_with_a_lost_disk_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let (a, log_of_a) = three.start_logging("a", "");
    let [b, c] = ["b", "c"].map(|name| three.start(name, "new"));
    let fence = a.fence();
    let at = format!("--endpoints http://{},http://{}", a.address, b.address);
    let all = |learner| ["a", "b", "c"].map(|name| (name.to_owned(), learner && name == "c"));
    let report = listed(&format!("{},{}", a.address, b.address), |_, status| status == 0);
    assert_eq!(names(&report), all(false));
    c.kill();
    let is_down = |report: &Value, _: i32| {
        let members = report["members"].as_array().into_iter().flatten();
        members.clone().any(|it| it["name"] == "c" && it["unreachable_since"].is_string())
    };
    listed(&format!("{},{}", a.address, b.address), is_down);
    // Without b, no majority would respond.
    let refused = tenure(&format!("member remove b {at}"));
    assert_fails_with(&refused, 4, "refused: etcdserver: unhealthy cluster");
    std::fs::remove_dir_all(three.data("c")).expect("a folder that is gone");
    assert_eq!(members(&format!("member remove c {at}")).len(), 2);
    let again = tenure(&format!("member remove c {at}"));
    assert_eq!(again.status.code(), Some(2), "{}", String::from_utf8_lossy(&again.stderr));
    let url = &three.urls[2];
    // The member to add is not running, so it does not receive the log in time.
    until(|| {
        let early = tenure(&format!("member add {url} {at}"));
        let is_late =
            String::from_utf8_lossy(&early.stderr).contains("not receive the log in time");
        if is_late {
            assert_fails_with(&early, 2, "start it with an empty data directory");
        }
        is_late
    });
    let (c, log_of_c) = three.start_logging("c", "--initial-cluster-state existing");
    let waits = lines_with(&log_of_c, "waits for tenure member add");
    assert!(waits.len() == 1 && waits[0].contains(&format!("url=\"{url}\"")), "{waits:?}");
    assert_eq!(members(&format!("member add {url} --learner {at}")), all(true));
    assert_eq!(members(&format!("member promote c {at}")), all(false));
    until(|| !lines_with(&log_of_a, "membership changed").is_empty());
    for (words, is_joint) in [("membership changes", true), ("membership changed", false)] {
        let lines = lines_with(&log_of_a, words);
        assert!(!lines.is_empty(), "{words}");
        assert!(lines.iter().all(|it| it.contains("outgoing=") == is_joint), "{lines:?}");
    }
    // The new member is part of the majority, and has the earlier data.
    a.kill();
    let later = b.fence();
    assert!(later > fence && c.fence() > later);
    // Each member knows the client addresses of the others.
    listed(&b.address, |report, status| {
        let members = report["members"].as_array();
        let has_address = |it: &Value| it["client_urls"].as_array().map(Vec::len) == Some(1);
        status == 0 && members.is_some_and(|it| it.iter().all(has_address))
    });
}

#[test]
fn members_accept_a_new_key_after_hangup() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    for keys in ["keys", "newer"] {
        let output = tenure(&format!("keys new --nodes 3 --to {}", three.data(keys)));
        assert!(output.status.success(), "{output:?}");
    }
    let public = three.data("keys/public.keys");
    let start = |name: &str, key: &str| {
        let private = three.data(key);
        let keys = format!("--peer-private-key {private} --peer-public-keys {public}");
        three.start_logging(name, &keys)
    };
    let members = [start("a", "keys/p1.key"), start("b", "keys/p2.key")];
    let key_of_c = |file: &str| {
        let keys = fs::read_to_string(file).expect("keys");
        keys.lines().find(|line| line.starts_with("P3 ")).expect("a key").to_owned()
    };
    let (old, new) = (key_of_c(&public), key_of_c(&three.data("newer/public.keys")));
    let keys = fs::read_to_string(&public).expect("keys");
    fs::write(&public, keys.replace(&old, &new)).expect("room");
    for (member, log) in &members {
        assert!(signal("-HUP", &member.process.id().to_string()));
        until(|| !lines_with(log, "keys reloaded").is_empty());
    }
    let (c, _) = start("c", "newer/p3.key");
    assert!(c.fence() > 0);
}

#[test]
fn removed_member_ends_with_a_status_and_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let [a, b, mut c] = ["a", "b", "c"].map(|name| three.start(name, "new"));
    c.fence();
    let at = format!("--endpoints http://{},http://{}", a.address, b.address);
    assert_eq!(members(&format!("member remove c {at}")).len(), 2);
    let until = Instant::now() + LONG;
    let status = loop {
        if let Some(status) = c.process.try_wait().expect("a process") {
            break status.code();
        }
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status, Some(5));
    let (data, cluster) = (three.data("c"), &three.cluster);
    let line = format!("--name c --data-dir {data} --initial-cluster {cluster}");
    let again = tenure(&format!("serve --listen-client-urls http://127.0.0.1:0 {line}"));
    assert_fails_with(&again, 5, "the cluster has removed this member");
}

#[test]
fn holders_and_waiting_clients_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    let at = format!("--endpoints http://{}", member.address);
    assert_eq!(data(&format!("locks ls {at}"), 0), json!({ "locks": [] }));
    let (_, key) = member.lock();
    // A waiting client creates a key and looks up its predecessor.
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 600, "ID": "26" }))["ID"].clone();
    member.ask("/v3/kv/put", &json!({ "key": "am9icy8xYQ==", "lease": lease }));
    let report = data(&format!("locks ls {at}"), 0);
    let lock = &report["locks"][0];
    assert_eq!((&lock["name"], &lock["waiting"]), (&json!("jobs"), &json!(1)), "{report}");
    let holder = &lock["holders"][0];
    let left = holder["seconds_left"].as_i64().expect("a time");
    assert!((1..=600).contains(&left) && holder["seconds"] == 600, "{report}");
    assert!(key.is_string());
    assert_eq!(data(&format!("locks show jobs {at}"), 0)["holders"][0]["fence"], holder["fence"]);
    let queue = data(&format!("locks queue jobs {at}"), 0);
    let inside: Vec<&Value> =
        queue["queue"].as_array().expect("places").iter().map(|it| &it["inside"]).collect();
    assert_eq!(inside, [true, false]);
    assert_eq!(queue["queue"][1]["lease"], "1a");
    let why = text(&format!("locks why jobs {at}"), 0);
    let waits =
        "unknown client (lease 1a) waits at position 2 of the queue for unknown client (lease ";
    assert!(why.contains(waits) && why.contains("): it requests exclusive access"), "{why}");
    assert!(why.contains("(lease 1a) acquires the lock when its holders release it, or "), "{why}");
    assert!(text(&format!("locks show other {at}"), 0).contains("other is free"));
    let away = tenure("locks ls --endpoints http://127.0.0.1:1");
    assert_eq!(away.status.code(), Some(4));
}
