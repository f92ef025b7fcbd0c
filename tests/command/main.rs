//! The command `tenure` in scripts: output and exit status.

mod agreements;
#[path = "../../crates/server/tests/server/authority.rs"]
mod authority;
mod cards;
mod check;
mod costs;
mod figures;
mod first_use;
mod graphs;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod guardian_faults;
mod hold;
mod invalid_arguments;
mod lab;
mod log;
mod malformed_grpc;
mod malformed_responses;
mod member_list;
mod nested;
mod operating;
mod own_models;
mod own_properties;
mod permissions;
mod philosophers;
mod prompt;
mod properties;
mod question_results;
mod questions;
mod replay;
mod rounds;
mod scenarios;
mod serve;
mod shell;
mod silent_endpoints;
mod simulate;
mod small_groups;
mod stabilization;
#[path = "../../crates/web/tests/support/mod.rs"]
mod support;
mod swarm;
mod sweeps;
mod timeouts;
mod tls;
mod tolerance;
