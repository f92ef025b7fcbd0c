//! Tables and summaries of locks.

use super::queue::{Claim, Lock};
use crate::cmd::output::format_columns;
use crate::cmd::service::client_description::ClaimOwner;

const MAX_NOTES: usize = 5;

pub(super) fn format_summary(lock: &Lock) -> String {
    let note = lock.nested_locks_note().map_or_else(String::new, |note| note + "\n");
    if lock.queue.is_empty() {
        return format!("{} is free\n{note}", lock.name);
    }
    let waiting = lock.waiting().count();
    let holders = lock.holders().map(|it| format!("  {}\n", it.description()));
    let holders = holders.collect::<String>();
    let recipe = lock.recipe.suffix();
    format!("{}{recipe}: {waiting} waiting, held by\n{holders}{note}", lock.name)
}

/// Returns a table of locks with one line per holder. At most [`MAX_NOTES`] notes about nested
/// locks follow the table.
pub(super) fn format_lock_table(locks: &[Lock]) -> String {
    if locks.is_empty() {
        return "no locks are held\n".into();
    }
    let head = ["lock", "held by", "since", "fence", "left", "waiting"];
    let mut rows = vec![head.map(str::to_owned)];
    for lock in locks {
        let waiting = lock.waiting().count().to_string();
        for (position, holder) in lock.holders().enumerate() {
            let [name, waiting] = match position {
                0 => [format!("{}{}", lock.name, lock.recipe.suffix()), waiting.clone()],
                _ => [String::new(), String::new()],
            };
            let fence = holder.fence.to_string();
            rows.push([name, holder.label(), since(holder), fence, left(holder), waiting]);
        }
    }
    let notes: Vec<String> = locks.iter().filter_map(Lock::nested_locks_note).collect();
    let mut text = format_columns(&rows, |_| false);
    notes.iter().take(MAX_NOTES).for_each(|note| text += &format!("{note}\n"));
    if let Some(more @ 1..) = notes.len().checked_sub(MAX_NOTES) {
        text += &format!("and {more} more names with nested locks\n");
    }
    text
}

pub(super) fn format_queue_table(lock: &Lock) -> String {
    if lock.queue.is_empty() {
        return format_summary(lock);
    }
    let mut rows = vec![["", "client", "since", "fence", "left", "mode", ""].map(str::to_owned)];
    rows.extend(lock.queue.iter().enumerate().map(|(position, it)| {
        let state = if it.is_holder { "holds" } else { "waits" };
        let (position, fence) = ((position + 1).to_string(), it.fence.to_string());
        [position, it.label(), since(it), fence, left(it), it.share.clone(), state.into()]
    }));
    format_columns(&rows, |_| false)
}

fn left(claim: &Claim) -> String {
    claim.seconds_left.map_or("-".into(), |left| format!("{left} s"))
}

fn since(claim: &Claim) -> String {
    match &claim.owner {
        ClaimOwner::Command(client) => client.held_or_queued_since(),
        ClaimOwner::Text(_) | ClaimOwner::Unknown => "-".into(),
    }
}
