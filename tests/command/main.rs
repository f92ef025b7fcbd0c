//! The command `tenure` as a script meets it: what it prints, and the status that it ends with.

mod agreements;
mod answers;
#[path = "../../crates/server/tests/server/authority.rs"]
mod authority;
mod calls;
mod cards;
mod check;
mod costs;
mod doubtful;
mod figures;
mod first_hour;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod guardian_faults;
mod hold;
mod lab;
mod liars;
mod log;
mod member_list;
mod mute;
mod nested;
mod operating;
mod permissions;
mod prompt;
mod properties;
mod questions;
mod replay;
mod scenarios;
mod sealed;
mod serve;
mod shell;
mod simulate;
mod small_groups;
#[path = "../../crates/web/tests/support/mod.rs"]
mod support;
mod timeouts;
mod tolerance;
