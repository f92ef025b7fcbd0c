//! Changes of the members that the leader refuses, because they would stop the service.

use serde_json::{Value, json};

use crate::eviction::remove;
use crate::member::{Member, at_the_same_time, base64, eventually, post};
use crate::three::{leader, start_with_timeouts};

/// One of three members is down. If another member were removed, the remaining two would have no
/// majority that responds. The leader refuses this removal, and the service continues. The removal
/// of the member that is down succeeds.
#[test]
fn removal_that_leaves_no_majority_is_refused() {
    at_the_same_time(["KILL", "STOP"], |signal| {
        let (_files, mut members) = start_with_timeouts([3_000; 3]);
        members[0].put("a", "1");
        let down = members.remove((leader(&members) + 1) % 3);
        let other = members.iter().position(|it| !it.is_leader()).expect("a follower");
        let (healthy, failed) = (members[other].id(), down.id());
        down.signal(signal);
        // A suspended member keeps its connections, so only its silence for an election timeout
        // shows that it is down.
        std::thread::sleep(std::time::Duration::from_secs(4));
        let refused = json!("etcdserver: unhealthy cluster");
        for member in &members {
            eventually("the leader refuses the removal", || {
                let request = json!({ "ID": healthy });
                let response = post(member.address, "/v3/cluster/member/remove", &request);
                let (status, response) = response.expect("a response");
                assert_eq!(status, 503, "{response}");
                assert_ne!(response["message"], "etcdserver: request timed out");
                // During an election the member does not know a leader.
                response["message"] == refused
            });
        }
        members[0].put("a", "2");
        members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("2"))));
        remove(&members[0], &failed);
        assert_eq!(names(&members[0]).len(), 2);
        members[1].put("a", "3");
    });
}

fn names(member: &Member) -> Vec<Value> {
    let list = member.ask("/v3/cluster/member/list", &json!({}));
    list["members"].as_array().into_iter().flatten().map(|it| it["name"].clone()).collect()
}
