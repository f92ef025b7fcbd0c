//! The election service: candidates that resign, and leaders that were replaced.

use serde_json::{Value, json};

use crate::member::{Member, base64, post};

fn grant(member: &Member, lease: u64) {
    member.ask("/v3/lease/grant", &json!({ "ID": lease, "TTL": 600 }));
}

fn candidacy(lease: u64) -> Value {
    json!({ "name": base64("office"), "lease": lease, "value": base64("me") })
}

/// Waits until the candidate with this lease leads. Returns its leader key.
fn elected(member: &Member, lease: u64) -> Value {
    member.ask("/v3/election/campaign", &candidacy(lease))["leader"].clone()
}

fn resign(member: &Member, leader: &Value) {
    member.ask("/v3/election/resign", &json!({ "leader": leader }));
}

/// Returns the creation revision of the leader's key; `None` if there is no leader.
fn leading_revision(member: &Member) -> Option<Value> {
    let body = json!({ "name": base64("office") });
    match post(member.address, "/v3/election/leader", &body).expect("a response") {
        (200, response) => Some(response["kv"]["create_revision"].clone()),
        (_, response) => {
            assert_eq!(response["message"], "election: no leader", "{response}");
            None
        }
    }
}

#[test]
fn resignation_passes_leadership_to_the_next_candidate() {
    let (_files, member) = Member::single();
    [7, 8].iter().for_each(|lease| grant(&member, *lease));
    let first = elected(&member, 7);
    let address = member.address;
    let waits = std::thread::spawn(move || post(address, "/v3/election/campaign", &candidacy(8)));
    member.wait_for_claims("office", 2);
    assert_eq!(leading_revision(&member), Some(first["rev"].clone()));
    resign(&member, &first);
    let (status, next) = waits.join().expect("a thread").expect("a response");
    assert_eq!(status, 200, "{next}");
    assert_eq!(leading_revision(&member), Some(next["leader"]["rev"].clone()));
    resign(&member, &next["leader"]);
    assert_eq!(leading_revision(&member), None);
}

/// The first successor has another key than the stale leader. The second successor has the same
/// key, because it uses the same lease.
#[test]
fn stale_leader_resigns_without_effect() {
    let (_files, member) = Member::single();
    [7, 8].iter().for_each(|lease| grant(&member, *lease));
    for (stale, successor) in [(7, 8), (8, 8)] {
        let first = elected(&member, stale);
        member.ask("/v3/kv/deleterange", &json!({ "key": first["key"] }));
        let next = elected(&member, successor);
        assert_eq!(first["key"] == next["key"], stale == successor, "{first} {next}");
        assert_ne!(first["rev"], next["rev"]);
        resign(&member, &first);
        assert_eq!(leading_revision(&member), Some(next["rev"].clone()), "{first}");
        // Control: the successor itself can resign.
        resign(&member, &next);
        assert_eq!(leading_revision(&member), None);
    }
}
