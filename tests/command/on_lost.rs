//! Tests of `tenure elect` with `--on-lost`, and with preferred candidates.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::hold::{Service, closed, ended, post_as_root, signal, until};
use crate::killed::Killed;
use crate::shell::{assert_fails_with, tenure, text};

/// Deletes all keys below `a/`, so that the leader of election `a` loses its leadership.
fn delete_claims(service: &Service) {
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#);
}

/// Returns a wrapper that runs `script` while it leads election `a`. After a loss of the
/// leadership, the wrapper runs the command `on_lost`.
fn elect(service: &Service, on_lost: &str, script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command
        .args(["elect", "--endpoints", &service.member.address, "--on-lost", on_lost, "a"])
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn on_lost_runs_after_the_command_has_ended() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let (file, id) = (folder.path().join("lost"), folder.path().join("id"));
    let on_lost = format!(
        "kill -0 $(cat {}) 2>/dev/null && echo runs; echo $TENURE_LOCK $TENURE_FENCE: \
         $TENURE_REASON >{}; exit 7",
        id.display(),
        file.display()
    );
    let script = format!("echo $$ >{}; exec sleep 600", id.display());
    let elected = Killed(elect(&service, &on_lost, &script).spawn().expect("it starts"));
    until(|| !read(&id).is_empty());
    delete_claims(&service);
    let output = elected.wait_with_output();
    assert_eq!(output.status.code(), Some(121), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the command has ended before");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("`a` was lost: its key was deleted; the command was"), "{message}");
    assert!(message.contains("the command of --on-lost failed: exit status: 7"), "{message}");
    let report = read(&file);
    assert!(report.starts_with("a "), "{report}");
    assert!(report.trim_end().ends_with(": `a` was lost: its key was deleted"), "{report}");
}

#[test]
fn on_lost_runs_although_standard_error_is_closed() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let (file, up) = (folder.path().join("lost"), folder.path().join("up"));
    let on_lost = format!("echo lost >{}", file.display());
    let script = format!("touch {}; exec sleep 600", up.display());
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut elected = elect(&service, &on_lost, &script).stderr(writer).spawn().expect("it starts");
    until(|| up.exists());
    delete_claims(&service);
    assert_eq!(elected.wait().expect("an end").code(), Some(121));
    assert_eq!(read(&file), "lost\n");
}

#[test]
fn on_lost_does_not_run_after_a_normal_end() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lost");
    let on_lost = format!("touch {}", file.display());
    let output = elect(&service, &on_lost, "exit 3").output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The command ends with the status that reports a loss, although the leadership was not lost.
    let output = elect(&service, &on_lost, "exit 121").output().expect("it starts");
    assert_eq!(output.status.code(), Some(121), "{output:?}");
    assert!(!file.exists());
}

#[test]
fn signals_are_passed_to_the_command_of_on_lost() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lost");
    let at = file.display();
    let on_lost = format!(
        "trap 'echo asked >>{at}; exit' TERM; echo lost >>{at}; while :; do sleep 0.02; done"
    );
    let (up, script) = (folder.path().join("up"), "exec sleep 600");
    let script = format!("touch {}; {script}", up.display());
    let elected = elect(&service, &on_lost, &script).spawn().expect("it starts");
    until(|| up.exists());
    delete_claims(&service);
    until(|| read(&file) == "lost\n");
    assert!(signal("-TERM", &elected.id().to_string()));
    assert_eq!(ended(elected).0, 121);
    assert_eq!(read(&file), "lost\nasked\n");
}

#[test]
fn leader_ends_its_command_for_a_preferred_candidate() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let events = folder.path().join("events");
    let at = events.display();
    let script = format!(
        "exec 2>/dev/null; trap 'sleep 0.2; echo ended >>{at}; exit' TERM; echo up; \
         while :; do sleep 0.02; done"
    );
    let next = format!("echo leads >>{at}");
    // The second candidate has a higher priority, so the leader hands over at once.
    let (leader, _) = service.running("elect --ttl 60s --identity x a", &script);
    let options = "elect --identity y --priority 1 a";
    let preferred = service.wrapper(options, &next).spawn().expect("it starts");
    let (status, message) = ended(leader);
    assert_eq!(status, 121, "{message}");
    assert!(message.contains("`a` was lost: candidate 'y' is preferred"), "{message}");
    assert_eq!(ended(preferred).0, 0);
    assert_eq!(read(&events), "ended\nleads\n");
    fs::remove_file(&events).expect("it is there");

    // The second candidate has the same priority, so the leader hands over only after a request.
    let (leader, _) = service.running("elect --ttl 60s --identity x a", &script);
    let waits = service.wrapper("elect --identity y a", &next).spawn().expect("it starts");
    until(|| service.asking_for_a() == 2);
    let transfer = |identity: &str| {
        tenure(&format!("elect --transfer-to {identity} a --endpoints {}", service.member.address))
    };
    assert_fails_with(&transfer("z"), 2, "no candidate 'z' waits in this election");
    assert_eq!(read(&events), "", "the control: it does not lead yet");
    let requested = transfer("y");
    assert!(requested.status.success(), "{requested:?}");
    assert_eq!(ended(leader).0, 121);
    assert_eq!(ended(waits).0, 0);
    assert_eq!(read(&events), "ended\nleads\n");
}

#[test]
fn transfer_to_the_leader_states_that_it_leads() {
    let service = Service::start();
    let line = format!("elect --transfer-to y a --endpoints {}", service.member.address);
    // A leader without an identity hands over to no candidate.
    let (first, _) = service.running("elect a", "echo up; exec sleep 600");
    let second = service.wrapper("elect --identity y a", "echo up; exec sleep 600").spawn();
    let mut second = Killed(second.expect("it starts"));
    until(|| service.asking_for_a() == 2);
    assert_eq!(text(&line, 0), "y is to lead a next\n");
    assert!(signal("-TERM", &first.id().to_string()));
    assert_eq!(ended(first).0, 143);
    assert_eq!(second.first_line(), "up");
    assert_eq!(text(&line, 0), "y leads a, and stays the leader\n");
    assert!(second.try_wait().expect("a child").is_none(), "it still leads");
}

#[test]
fn leader_hands_over_after_a_rejected_read_of_candidates() {
    let service = closed();
    let change = |what: &str, start: &str, end: &str| {
        let range = format!(r#""key":"{start}","range_end":"{end}""#);
        let body = match what {
            "grant" => format!(r#"{{"name":"jobs","perm":{{"permType":"READWRITE",{range}}}}}"#),
            _ => format!(r#"{{"role":"jobs",{range}}}"#),
        };
        post_as_root(&service.member, &format!("/v3/auth/role/{what}"), &body);
    };
    // The claims are the keys below `jobs/e/`, and the records those below `jobs/e#election/`.
    let [claims, records] = [
        ["am9icy9lLw==", "am9icy9lMA=="],
        ["am9icy9lI2VsZWN0aW9uLw==", "am9icy9lI2VsZWN0aW9uMA=="],
    ];
    change("grant", claims[0], claims[1]);
    change("grant", records[0], records[1]);
    change("revoke", "am9icy8=", "am9iczA=");
    let (mut leader, _) =
        service.running("elect --user bob:one --identity x jobs/e", "echo up; exec sleep 600");
    change("revoke", records[0], records[1]);
    let options = "elect --user root:secret --identity y --priority 1 jobs/e";
    let preferred = service.wrapper(options, "true").spawn().expect("it starts");
    let mut messages = BufReader::new(leader.stderr.take().expect("its errors"));
    let mut line = String::new();
    messages.read_line(&mut line).expect("text");
    assert!(line.contains("cannot read the candidates, trying again: refused: "), "{line}");
    change("grant", records[0], records[1]);
    let mut rest = String::new();
    messages.read_to_string(&mut rest).expect("text");
    assert_eq!(leader.wait().expect("an end").code(), Some(121), "{rest}");
    assert!(rest.contains("`jobs/e` was lost: candidate 'y' is preferred"), "{rest}");
    assert_eq!(ended(preferred).0, 0);
}

#[test]
fn observer_takes_no_options_of_a_candidate() {
    for line in [
        "elect --observe --on-lost true a",
        "elect --observe --identity x a",
        "elect --transfer-to x a -- true",
        "elect --priority 1 a -- true",
    ] {
        assert_eq!(tenure(line).status.code(), Some(2), "{line}");
    }
}
