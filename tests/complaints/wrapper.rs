//! Tests of complaints 11 to 14: commands that run while a lock is held.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::killed::Killed;
use crate::server::{Server, at_each_server, is_running, servers, until};

#[test]
fn complaint_11_term_reaches_the_command() {
    for server in servers() {
        let script = "trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done";
        let (wrapper, _) = server.running("lock --ttl 600s a", script);
        wrapper.signal(Signal::TERM);
        assert_eq!(wrapper.wait().0, Some(9), "{}", server.name());
        assert_eq!(server.leases(), 0, "the lock is released");
    }
}

/// Suspends the service while `tenure lock` holds a lock. `tenure lock` must end its command before
/// the lease can expire. Otherwise, the command could run while another client holds the lock.
#[test]
fn complaint_12_command_ends_while_the_service_is_silent() {
    at_each_server(|server| {
        let script = "trap '' TERM; echo $$; while :; do sleep 0.02; done";
        let (wrapper, id) = server.running("lock --ttl 3s a", script);
        server.signal(Signal::STOP);
        let (status, message) = wrapper.wait();
        assert_eq!(status, Some(121), "{}: {message}", server.name());
        assert!(!is_running(&id), "{}: the command runs", server.name());
        server.signal(Signal::CONT);
    });
}

/// Deletes the key of the holder of `a`, as an operator could.
fn take_away(server: &Server) {
    // Deletes all keys below `a/`: the range from `a/` to `a0`.
    let (status, _) =
        server.post("/v3/kv/deleterange", &json!({ "key": "YS8=", "range_end": "YTA=" }));
    assert_eq!(status, 200);
}

#[test]
fn complaint_13_lost_lock_has_a_status_and_a_message() {
    for server in servers() {
        let (wrapper, id) = server.running("lock --ttl 600s a", "echo $$; exec sleep 600");
        take_away(&server);
        let (status, message) = wrapper.wait();
        assert_eq!(status, Some(121), "{}", server.name());
        assert!(message.contains("`a` was lost: its key was deleted"), "{message}");
        assert!(!is_running(&id));
    }
}

#[test]
fn complaint_13_command_runs_when_a_leadership_is_lost() {
    for server in servers() {
        let options = "elect --ttl 600s --on-lost ./on-lost a";
        let script = "#!/bin/sh\necho $TENURE_LOCK >lost\n";
        fs::write(server.path("on-lost"), script).expect("a file");
        let chmod = Command::new("chmod").arg("+x").arg(server.path("on-lost")).status();
        assert!(chmod.expect("chmod").success());
        let (wrapper, id) = server.running(options, "echo $$; exec sleep 600");
        take_away(&server);
        until("the command has run", || {
            fs::read_to_string(server.path("lost")).is_ok_and(|text| text == "a\n")
        });
        assert!(!is_running(&id), "{}: the leader's command has ended before", server.name());
        wrapper.signal(Signal::TERM);
    }
}

/// Upper bound on the pause between two holders, in milliseconds. Most of the measured pauses must
/// be shorter. In the complaint, each pause takes 5 s.
const MAX_PAUSE_MS: u64 = 2_000;

/// Eight commands wait for a lock. Each command releases the lock soon after it has acquired the
/// lock. Asserts that most commands start shortly after the previous release. A busy machine may
/// delay a few commands.
#[test]
fn complaint_14_next_holder_starts_without_a_pause() {
    for server in servers() {
        let (first, _) = server.running("lock --ttl 600s a", "echo up; exec sleep 600");
        let start = |_| -> Killed {
            let mut wrapper = server.wrapper("lock --ttl 600s a", "date +%s%3N >>starts");
            Killed(wrapper.spawn().expect("the command starts"))
        };
        let waiting: Vec<Killed> = (0..8).map(start).collect();
        until("all are in the queue", || server.queue().len() == 9);
        first.signal(Signal::TERM);
        for child in waiting {
            assert!(child.wait_with_output().status.success());
        }
        let starts = fs::read_to_string(server.path("starts")).expect("the times");
        let starts: Vec<u64> = starts.lines().map(|it| it.parse().expect("a time")).collect();
        let pauses: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let short = pauses.iter().filter(|pause| **pause < MAX_PAUSE_MS).count();
        assert!(pauses.len() == 7 && short >= 4, "{}: {pauses:?}", server.name());
    }
}
