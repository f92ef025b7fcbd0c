//! Members that must not take part any more: removed ones, ones that lost what they acknowledged,
//! and ones whose place another takes.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::member::{EVICTED, Files, Member, base64, eventually, follow, post};
use crate::three::leader;

fn started(files: &Files) -> Vec<Member> {
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "1");
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("1"))));
    members
}

/// The ID of a member, as it says itself.
fn id(member: &Member) -> Value {
    member.ask("/v3/maintenance/status", &json!({}))["header"]["member_id"].clone()
}

/// Removes a member, and asks another one to do so.
fn remove(other: &Member, id: &Value) {
    other.ask("/v3/cluster/member/remove", &json!({ "ID": id }));
}

/// The status of `/health`.
fn health(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /health HTTP/1.0\r\n\r\n").expect("it reads");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("an answer");
    told.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn data(files: &Files, index: usize) -> PathBuf {
    files.path().join(["a", "b", "c"][index])
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("a file").path();
        // A file that is being written may be gone by now.
        let _ = fs::copy(&path, to.join(path.file_name().expect("a name")));
    }
}

/// etcd ignores the flag once there is data, so it stays in manifests.
#[test]
fn founding_members_restart_with_the_state_existing() {
    let files = Files::of(3);
    let mut members = started(&files);
    for index in 0..3 {
        members.remove(index).terminate();
        let file = &files.files[index];
        let text = fs::read_to_string(file).expect("a file");
        fs::write(file, format!("{text}initial-cluster-state = \"existing\"\n")).expect("room");
        members.insert(index, Member::start(file));
        members[index].put("a", &index.to_string());
    }
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("2"))));
}

#[test]
fn a_removed_member_ends_its_streams_and_itself() {
    for leads in [false, true] {
        let files = Files::of(3);
        let mut members = started(&files);
        let index = if leads { leader(&members) } else { (leader(&members) + 1) % 3 };
        let removed = members.remove(index);
        let id = id(&removed);
        let mut watching =
            follow(removed.address, "/v3/watch", &json!({ "create_request": { "key": "YQ==" } }));
        assert_eq!(watching.next().expect("an answer")["result"]["created"], true);
        let grant =
            |member: &Member| member.ask("/v3/lease/grant", &json!({ "TTL": 600 }))["ID"].clone();
        let lock = |lease: Value| json!({ "name": base64("jobs"), "lease": lease });
        members[0].ask("/v3/lock/lock", &lock(grant(&members[0])));
        let (address, waiting) = (removed.address, lock(grant(&removed)));
        let waiter = thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
        let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
        eventually("it waits", || removed.ask("/v3/kv/range", &below)["count"] == "2");
        remove(&members[0], &id);
        let told: Vec<Value> = watching.collect();
        let last = told.last().expect("an error").to_string();
        assert!(last.contains("etcdserver: server stopped"), "{last}");
        let (status, told) = waiter.join().expect("a waiter").expect("an answer");
        let stopped = json!("etcdserver: server stopped");
        assert_eq!((status, &told["message"]), (503, &stopped), "{told}");
        assert_eq!(removed.ends(), EVICTED);
        members[0].put("a", "2");
        assert_eq!(Member::fails(&files.files[index]), EVICTED, "and it does not come back");
    }
}

#[test]
fn a_member_that_was_removed_while_it_was_down_ends() {
    let files = Files::of(3);
    let mut members = started(&files);
    let index = (leader(&members) + 1) % 3;
    let removed = members.remove(index);
    let id = id(&removed);
    removed.kill();
    remove(&members[0], &id);
    assert_eq!(Member::start(&files.files[index]).ends(), EVICTED);
}

#[test]
fn a_member_that_was_stopped_while_it_was_removed_ends_when_it_goes_on() {
    let files = Files::of(3);
    let mut members = started(&files);
    let removed = members.remove((leader(&members) + 1) % 3);
    let id = id(&removed);
    removed.signal("STOP");
    remove(&members[0], &id);
    members[0].put("a", "2");
    removed.signal("CONT");
    assert_eq!(removed.ends(), EVICTED);
}

#[test]
fn a_client_of_a_removed_member_gets_its_lock_through_another() {
    let files = Files::of(3);
    let mut members = started(&files);
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
        .spawn()
        .expect("etcdctl");
    let below = json!({ "key": base64("q/"), "range_end": base64("q0") });
    eventually("it waits", || members[0].ask("/v3/kv/range", &below)["count"] == "2");
    remove(&members[0], &id(&removed));
    assert_eq!(removed.ends(), EVICTED);
    members[0].ask("/v3/lock/unlock", &json!({ "key": held["key"] }));
    let output = client.wait_with_output().expect("etcdctl");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("got"), "{output:?}");
}

/// The files of three members whose leader stays, and that keep all of their log.
fn steady() -> Files {
    let files = Files::of(3);
    for file in &files.files {
        let text = fs::read_to_string(file).expect("a file");
        let text = text.replace("snapshot-count = 20", "snapshot-count = 10000");
        fs::write(file, format!("{text}election-timeout = 2000\n")).expect("room");
    }
    files
}

/// Loses what the follower `index` has acknowledged since a copy was made, or all since its last
/// start, while the leader stays.
fn loses(files: &Files, members: &[Member], index: usize, copied: bool) -> Member {
    let (data, kept) = (data(files, index), files.path().join("copy"));
    if copied {
        copy(&data, &kept);
    }
    let leads = leader(members);
    for number in 0..10 {
        members[leads].put("a", &number.to_string());
    }
    eventually("it has all", || members[index].get("a") == Some(base64("9")));
    members[index].signal("KILL");
    thread::sleep(Duration::from_millis(100));
    if copied {
        fs::remove_dir_all(&data).expect("a directory");
        fs::rename(&kept, &data).expect("a copy");
    } else {
        let entries = fs::read_dir(&data).expect("a directory");
        let names = entries.map(|it| it.expect("a file").path());
        let is_log = |it: &PathBuf| {
            it.file_name().is_some_and(|it| it.to_string_lossy().starts_with("log-"))
        };
        fs::remove_file(names.filter(is_log).max().expect("a segment")).expect("a file");
    }
    Member::start(&files.files[index])
}

#[test]
fn a_member_that_lost_what_it_acknowledged_is_refused_and_not_counted() {
    for copied in [true, false] {
        let files = steady();
        let members = started(&files);
        let leads = leader(&members);
        let (index, other) = ((leads + 1) % 3, (leads + 2) % 3);
        let again = loses(&files, &members, index, copied);
        assert_eq!(again.ends(), EVICTED, "copied: {copied}");
        members[leads].put("a", "2");
        assert_eq!(health(members[leads].address), "200", "two of three run");
        assert_eq!(Member::fails(&files.files[index]), EVICTED, "and it does not come back");
        members[other].signal("STOP");
        eventually("the leader knows", || health(members[leads].address) == "503");
        members[other].signal("CONT");
        // The remedy.
        let replaced = replace(&files, &members[leads], index);
        assert_eq!(replaced.get("a"), Some(base64("2")));
    }
}

/// The ID of a member that does not run.
fn id_of(asked: &Member, index: usize) -> Value {
    let list = asked.ask("/v3/cluster/member/list", &json!({}));
    let members = list["members"].as_array().expect("members").clone();
    let name = ["a", "b", "c"][index];
    members.into_iter().find(|it| it["name"] == name).expect("a member")["ID"].clone()
}

/// Empties the directory of a member, and has it start in the place of a removed one.
fn empty(files: &Files, index: usize) {
    fs::remove_dir_all(data(files, index)).expect("a directory");
    let file = &files.files[index];
    let text = fs::read_to_string(file).expect("a file");
    if !text.contains("initial-cluster-state") {
        fs::write(file, format!("{text}initial-cluster-state = \"existing\"\n")).expect("room");
    }
}

/// Replaces a member that does not run, as the manual says.
fn replace(files: &Files, asked: &Member, index: usize) -> Member {
    remove(asked, &id_of(asked, index));
    empty(files, index);
    start_and_add(files, asked, index)
}

fn start_and_add(files: &Files, asked: &Member, index: usize) -> Member {
    let file = &files.files[index];
    let text = fs::read_to_string(file).expect("a file");
    let replaced = Member::start(file);
    let name = format!("{}=", ["a", "b", "c"][index]);
    let url = text.split(['"', ',']).find_map(|it| it.strip_prefix(&name)).expect("a URL");
    asked.ask("/v3/cluster/member/add", &json!({ "peerURLs": [url] }));
    assert_eq!(replaced.get("a"), asked.get("a"));
    replaced
}

#[test]
fn a_replaced_member_is_replaced_again() {
    let files = Files::of(3);
    let mut members = started(&files);
    let index = (leader(&members) + 1) % 3;
    members.remove(index).kill();
    replace(&files, &members[0], index).kill();
    for _ in 0..4 {
        let restarted = Member::start(&files.files[index]);
        assert_eq!(restarted.get("a"), Some(base64("1")));
        restarted.kill();
    }
    let again = replace(&files, &members[0], index);
    // It counts.
    members.remove(1).kill();
    again.put("a", "2");
    assert_eq!(members[0].get("a"), Some(base64("2")));
}

#[test]
fn a_replacement_that_starts_before_its_predecessor_is_removed_can_start_again() {
    let files = steady();
    let mut members = started(&files);
    let index = (leader(&members) + 1) % 3;
    members.remove(index).kill();
    empty(&files, index);
    assert_eq!(Member::start(&files.files[index]).ends(), EVICTED);
    remove(&members[0], &id_of(&members[0], index));
    start_and_add(&files, &members[0], index);
}

/// The leader may have acknowledged writes with the member whose directory is lost.
#[test]
fn a_member_without_its_directory_is_refused_by_one_that_was_restarted() {
    for lost in [0, 2] {
        let files = Files::of(3);
        started(&files).into_iter().for_each(Member::kill);
        fs::remove_dir_all(data(&files, lost)).expect("a directory");
        let other = Member::start(&files.files[1]);
        assert_eq!(Member::start(&files.files[lost]).ends(), EVICTED);
        let asked = json!({ "key": base64("a") });
        let (status, told) = post(other.address, "/v3/kv/range", &asked).expect("an answer");
        assert_eq!(status, 503, "it has no majority: {told}");
        let third = Member::start(&files.files[2 - lost]);
        assert_eq!(third.get("a"), Some(base64("1")));
    }
}
