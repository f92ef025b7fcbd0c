//! Members that must not participate any more: removed, replaced, or with lost entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::killed::Killed;
use crate::limits::metric;
use crate::member::{
    EVICTED_STATUS, Files, Member, at_the_same_time, base64, eventually, follow, follow_with, get,
    post,
};
use crate::three::{HOUR, leader, start_led_by_first};

fn started() -> (Files, Vec<Member>) {
    start_and_write(Files::of(3))
}

/// Starts the members, and waits until all have applied a write.
fn start_and_write(files: Files) -> (Files, Vec<Member>) {
    let members = files.start_all();
    members[0].put("a", "1");
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("1"))));
    (files, members)
}

pub(crate) fn remove(other: &Member, id: &Value) {
    let request = json!({ "ID": id });
    eventually("the member is removed", || {
        let response = post(other.address, "/v3/cluster/member/remove", &request);
        // After an election, a repeated request does not find the member.
        response.is_some_and(|(status, _)| [200, 404].contains(&status))
    });
}

/// Line of the configuration of a member that joins an existing cluster.
const STATE_EXISTING: &str = "initial-cluster-state = \"existing\"";

fn data(files: &Files, index: usize) -> PathBuf {
    files.path().join(["a", "b", "c"][index])
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a write");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("a file").path();
        // A file that is being written may disappear.
        let _ = fs::copy(&path, to.join(path.file_name().expect("a name")));
    }
}

/// Restarts the founding members after adding the line [`STATE_EXISTING`] to their configurations.
/// The members have data, so they must ignore this line, as etcd does. Operators leave such a line
/// in manifests.
#[test]
fn founding_members_restart_with_state_existing() {
    let (files, mut members) = started();
    for index in 0..3 {
        members.remove(index).terminate();
        files.configure(index, STATE_EXISTING);
        members.insert(index, files.start(index));
        members[index].put("a", &index.to_string());
    }
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("2"))));
}

#[test]
fn removed_member_ends_its_streams_and_stops() {
    at_the_same_time([false, true], |leads| {
        let files = Files::of(3);
        let mut members = start_led_by_first(&files, [600; 2]);
        let index = if leads { 0 } else { 1 };
        let removed = members.remove(index);
        let id = removed.id();
        let mut watching =
            follow(removed.address, "/v3/watch", &json!({ "create_request": { "key": "YQ==" } }));
        assert_eq!(watching.next().expect("a response")["result"]["created"], true);
        let grant =
            |member: &Member| member.ask("/v3/lease/grant", &json!({ "TTL": 600 }))["ID"].clone();
        let lock = |lease: Value| json!({ "name": base64("jobs"), "lease": lease });
        members[0].ask("/v3/lock/lock", &lock(grant(&members[0])));
        let (address, waiting) = (removed.address, lock(grant(&removed)));
        let waiter = thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
        removed.wait_for_claims("jobs", 2);
        remove(&members[0], &id);
        let response: Vec<Value> = watching.collect();
        let last = response.last().expect("an error").to_string();
        assert!(last.contains("etcdserver: server stopped"), "{last}");
        let (status, response) = waiter.join().expect("a waiter").expect("a response");
        let stopped = json!("etcdserver: server stopped");
        assert_eq!((status, &response["message"]), (503, &stopped), "{response}");
        assert_eq!(removed.wait_exit(), EVICTED_STATUS);
        members[0].put("a", "2");
        assert_eq!(Member::start_failing(&files.files[index]), EVICTED_STATUS, "evicted again");
    });
}

#[test]
fn member_removed_while_down_stops_at_restart() {
    let (files, mut members) = started();
    let index = (leader(&members) + 1) % 3;
    let removed = members.remove(index);
    let id = removed.id();
    removed.kill();
    remove(&members[0], &id);
    assert_eq!(files.start(index).wait_exit(), EVICTED_STATUS);
}

#[test]
fn member_removed_while_suspended_stops_when_resumed() {
    let (_files, mut members) = started();
    let removed = members.remove((leader(&members) + 1) % 3);
    let id = removed.id();
    removed.signal("STOP");
    remove(&members[0], &id);
    members[0].put("a", "2");
    removed.signal("CONT");
    assert_eq!(removed.wait_exit(), EVICTED_STATUS);
}

#[test]
fn client_of_removed_member_acquires_lock_elsewhere() {
    let (_files, mut members) = started();
    let removed = members.remove((leader(&members) + 1) % 3);
    let Some(mut etcdctl) = etcdctl(&removed) else { return };
    let lease = members[0].ask("/v3/lease/grant", &json!({ "TTL": 600 }))["ID"].clone();
    let held = members[0].ask("/v3/lock/lock", &json!({ "name": base64("q"), "lease": lease }));
    let endpoints = format!("{},{}", removed.address, members[0].address);
    let client = etcdctl
        .env("ETCDCTL_ENDPOINTS", endpoints)
        .args(["lock", "q", "echo", "got"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let client = Killed(client.expect("etcdctl"));
    members[0].wait_for_claims("q", 2);
    remove(&members[0], &removed.id());
    assert_eq!(removed.wait_exit(), EVICTED_STATUS);
    members[0].ask("/v3/lock/unlock", &json!({ "key": held["key"] }));
    let output = client.wait_with_output();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && stdout.contains("got"), "{output:?}");
}

/// Starts three members that do not compact their logs. The first member leads as long as it runs.
fn stable_cluster() -> (Files, Vec<Member>) {
    let files = Files::of(3);
    for index in 0..3 {
        files.edit(index, |text| text.replace("snapshot-count = 20", "snapshot-count = 10000"));
    }
    let members = start_led_by_first(&files, [HOUR; 2]);
    (files, members)
}

/// Makes the follower `index` lose acknowledged entries while the first member keeps leading. Then
/// starts the follower again. If `copied` is true, the follower gets back an earlier copy of its
/// directory. If false, the follower loses the entries since its last start.
fn lose_entries(files: &Files, members: &mut [Member], index: usize, copied: bool) -> Member {
    let (data, kept) = (data(files, index), files.path().join("copy"));
    if copied {
        copy(&data, &kept);
    }
    for number in 0..10 {
        members[0].put("a", &number.to_string());
    }
    eventually("the follower has all entries", || members[index].get("a") == Some(base64("9")));
    members[index].crash();
    if copied {
        fs::remove_dir_all(&data).expect("a directory");
        fs::rename(&kept, &data).expect("a copy");
    } else {
        let entries = fs::read_dir(&data).expect("a directory");
        let names = entries.map(|it| it.expect("a file").path());
        let begins = |it: &PathBuf, prefix| {
            it.file_name().is_some_and(|it| it.to_string_lossy().starts_with(prefix))
        };
        let mut names: Vec<PathBuf> = names.collect();
        names.sort_unstable();
        // Removes the newest file of the log and its marker, as if the disk had lost flushed data.
        for prefix in ["log-", "newest-"] {
            let newest = names.iter().rfind(|it| begins(it, prefix)).expect("a file");
            fs::remove_file(newest).expect("a file");
        }
    }
    files.start(index)
}

#[test]
fn member_with_lost_entries_is_evicted_and_does_not_count() {
    at_the_same_time([true, false], |copied| {
        let (files, mut members) = stable_cluster();
        let (leads, index, other) = (0, 1, 2);
        let again = lose_entries(&files, &mut members, index, copied);
        assert_eq!(again.wait_exit(), EVICTED_STATUS, "copied: {copied}");
        members[leads].put("a", "2");
        assert_eq!(get(members[leads].address, "/health").0, 200, "two of three run");
        assert_eq!(Member::start_failing(&files.files[index]), EVICTED_STATUS, "evicted again");
        members[other].signal("STOP");
        let (put, short) = (json!({ "key": base64("b") }), [("Grpc-Timeout", "2S")]);
        let mut undecided = follow_with(&short, members[leads].address, "/v3/kv/put", &put);
        assert_eq!(undecided.next().expect("a response")["code"], 14, "no majority");
        members[other].signal("CONT");
        let replaced = replace(&files, &members[leads], index);
        assert_eq!(replaced.get("a"), Some(base64("2")));
    });
}

/// Returns the ID of the member with this index. That member does not run, so the function asks the
/// running member `other`.
fn id_of(other: &Member, index: usize) -> Value {
    let list = other.ask("/v3/cluster/member/list", &json!({}));
    let members = list["members"].as_array().expect("members").clone();
    let name = ["a", "b", "c"][index];
    members.into_iter().find(|it| it["name"] == name).expect("a member")["ID"].clone()
}

/// Removes the data directory of a member, and adds the line `STATE_EXISTING` to its configuration
/// file. The member then starts as the replacement of a removed member.
fn empty_directory(files: &Files, index: usize) {
    fs::remove_dir_all(data(files, index)).expect("a directory");
    files.edit(index, |text| match text.contains(STATE_EXISTING) {
        true => text,
        false => text + STATE_EXISTING + "\n",
    });
}

/// Replaces a stopped member, as the manual describes. The new member starts with an empty data
/// directory. Returns the new member.
fn replace(files: &Files, other: &Member, index: usize) -> Member {
    remove(other, &id_of(other, index));
    empty_directory(files, index);
    start_and_add(files, other, index)
}

fn start_and_add(files: &Files, other: &Member, index: usize) -> Member {
    let replaced = files.start(index);
    add(files, other, index);
    assert_eq!(replaced.get("a"), other.get("a"));
    replaced
}

fn add(files: &Files, other: &Member, index: usize) {
    let url = format!("http://{}", files.peers[index]);
    other.ask("/v3/cluster/member/add", &json!({ "peerURLs": [url] }));
}

#[test]
fn replaced_member_can_be_replaced_again() {
    let (files, mut members) = started();
    let index = (leader(&members) + 1) % 3;
    members.remove(index).kill();
    replace(&files, &members[0], index).kill();
    for _ in 0..4 {
        let restarted = files.start(index);
        assert_eq!(restarted.get("a"), Some(base64("1")));
        restarted.kill();
    }
    let again = replace(&files, &members[0], index);
    // A majority now needs the replacement.
    members.remove(1).kill();
    again.put("a", "2");
    assert_eq!(members[0].get("a"), Some(base64("2")));
}

/// Waits until `member` has rejected the replacement of a member that was not removed.
fn wait_for_rejection(member: &Member) {
    let name = "tenure_rejected_total{reason=\"predecessor_not_removed\"}";
    eventually("the replacement is rejected", || metric(member.address, name) > 0);
}

#[test]
fn early_replacement_waits_for_the_removal() {
    let (files, mut members) = stable_cluster();
    let index = 1;
    members.remove(index).kill();
    empty_directory(&files, index);
    let early = files.start(index);
    wait_for_rejection(&members[0]);
    remove(&members[0], &id_of(&members[0], index));
    add(&files, &members[0], index);
    assert_eq!(early.get("a"), Some(base64("1")));
}

/// A replacement that was started by mistake does not exclude the member that it replaces.
#[test]
fn replaced_member_returns_after_mistaken_start() {
    let (files, mut members) = stable_cluster();
    let (index, kept) = (1, files.path().join("kept"));
    members.remove(index).kill();
    copy(&data(&files, index), &kept);
    empty_directory(&files, index);
    let mistaken = files.start(index);
    wait_for_rejection(&members[0]);
    mistaken.kill();
    fs::remove_dir_all(data(&files, index)).expect("a directory");
    fs::rename(&kept, data(&files, index)).expect("the directory of the member");
    let again = files.start(index);
    assert_eq!(again.get("a"), Some(base64("1")));
    // A majority now needs the member that has returned.
    members.remove(1).kill();
    again.put("a", "2");
}

/// Removes the data directory of a member, and starts the member again. The member must be evicted.
/// It may have acknowledged writes before it lost the directory, so it must not vote again.
#[test]
fn member_without_its_directory_is_evicted() {
    at_the_same_time([0, 2], |lost| {
        let (files, members) = started();
        members.into_iter().for_each(Member::kill);
        fs::remove_dir_all(data(&files, lost)).expect("a directory");
        let other = files.start(1);
        assert_eq!(files.start(lost).wait_exit(), EVICTED_STATUS);
        let body = json!({ "key": base64("a") });
        let (status, response) = post(other.address, "/v3/kv/range", &body).expect("a response");
        assert_eq!(status, 503, "no majority: {response}");
        let third = files.start(2 - lost);
        assert_eq!(third.get("a"), Some(base64("1")));
    });
}
