//! Explanations why clients wait for a lock, and how long the next client waits at most.

use serde::Serialize;
use tenure_session::AccessMode;

use super::queue::{Claim, Lock};

/// A client that waits for a lock, and the reason. Scripts depend on the keys of its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct WaitExplanation {
    client: String,
    /// Place of the client in the queue, from 1.
    position: usize,
    /// Short names of the clients that block this client. If the claim directly ahead in the queue
    /// waits as well, this is only the client of that claim. Otherwise, these are all holders, and
    /// at least one of them must release the lock first.
    blocked_by: Vec<String>,
    reason: &'static str,
}

/// Returns an explanation for each waiter, in the order of the queue.
pub(super) fn explain_waits(lock: &Lock) -> Vec<WaitExplanation> {
    let waiting = lock.queue.iter().enumerate().filter(|(_, claim)| !claim.is_holder);
    waiting.map(|(position, claim)| wait(lock, position, claim)).collect()
}

fn wait(lock: &Lock, position: usize, claim: &Claim) -> WaitExplanation {
    let last = lock.queue[..position].last().filter(|before| !before.is_holder);
    let first = lock.queue.first().map(|first| first.access);
    let (blockers, reason) = match (last, claim.access, first) {
        (Some(before), ..) => (vec![before], "the claim ahead of it waits as well"),
        (None, AccessMode::Permits { weight, .. }, Some(AccessMode::Permits { .. })) => {
            let are_full = weight <= 1;
            let reason = if are_full { "all slots are in use" } else { "too few slots are free" };
            (lock.holders().collect(), reason)
        }
        (None, AccessMode::Exclusive, _) => {
            (lock.holders().collect(), "it requests exclusive access")
        }
        _ => (lock.holders().collect(), "the holder does not share the lock"),
    };
    let blocked_by = blockers.into_iter().map(Claim::label).collect();
    WaitExplanation { client: claim.label(), position: position + 1, blocked_by, reason }
}

/// Returns lines of text for the user. The lines name the holders, explain why each waiter waits,
/// and name the next holder. If all holders have leases with known times, the text also says when
/// the next holder acquires the lock if these leases are not renewed.
pub(super) fn explanation_lines(lock: &Lock) -> Vec<String> {
    if lock.queue.is_empty() {
        let line = format!("{} is free: the next client acquires it", lock.name);
        return [line].into_iter().chain(lock.nested_locks_note()).collect();
    }
    let held = lock.holders().map(|it| format!("{} is held by {}", lock.name, it.description()));
    let mut lines: Vec<String> = held.collect();
    lines.extend(explain_waits(lock).into_iter().map(|wait| {
        let WaitExplanation { client, position, blocked_by, reason } = wait;
        let others = blocked_by.join(", ");
        format!("{client} waits at position {position} of the queue for {others}: {reason}")
    }));
    lines.extend(lock.waiting().next().map(|next| next_holder(lock, next)));
    lines.extend(lock.nested_locks_note());
    lines
}

fn next_holder(lock: &Lock, next: &Claim) -> String {
    let holders: Vec<&Claim> = lock.holders().collect();
    let left = holders.iter().map(|it| it.seconds_left).max().flatten();
    let when = match left {
        Some(left) if holders.iter().all(|it| it.seconds_left.is_some()) => {
            format!(", or in {left} s if the leases are not renewed")
        }
        _ => String::new(),
    };
    format!("{} acquires the lock when its holders release it{when}", next.label())
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::below;
    use super::*;

    #[test]
    fn each_wait_names_its_blockers() {
        let keys =
            [("a/1.shared", 1, 1), ("a/2.shared", 2, 2), ("a/3", 3, 3), ("a/4.shared", 4, 4)];
        let waits = explain_waits(&Lock::from_keys(b"a", &below(&keys)));
        let client = |lease: u64| format!("unknown client (lease {lease})");
        let found: Vec<_> = waits.iter().map(|it| (it.position, it.blocked_by.clone())).collect();
        assert_eq!(found, [(3, vec![client(1), client(2)]), (4, vec![client(3)])]);
        assert_eq!(waits[0].reason, "it requests exclusive access");
        assert_eq!(waits[1].reason, "the claim ahead of it waits as well");
    }

    #[test]
    fn key_without_a_lease_blocks_other_clients() {
        let stray = Lock::from_keys(b"a", &below(&[("a/b", 1, 0), ("a/2", 2, 2)]));
        let lines = explanation_lines(&stray);
        assert!(lines[0].contains("it stays until the key is deleted"));
        assert_eq!(
            lines[1],
            "unknown client (lease 2) waits at position 2 of the queue for unknown client (the key \
             a/b): it requests exclusive access"
        );
    }
}
