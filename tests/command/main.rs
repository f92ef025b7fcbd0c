//! Tests of the command `tenure` as scripts use it: output and exit status.

mod access_modes;
mod agreements;
#[path = "../../crates/server/tests/server/authority.rs"]
mod authority;
mod break_lock;
mod cards;
mod check;
mod client_settings;
mod costs;
mod custom_properties;
mod embedded;
mod figures;
mod first_use;
mod graphs;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod guardian_faults;
mod hold;
mod invalid_arguments;
#[path = "../support/killed.rs"]
mod killed;
mod lab;
mod log;
mod malformed_grpc;
mod malformed_responses;
#[path = "../support/member.rs"]
mod member;
mod member_list;
mod monitoring;
mod nested;
mod older_processes;
mod on_lost;
mod operating;
mod own_models;
mod packaging;
#[path = "../support/process_state.rs"]
mod process_state;
mod prompt;
mod properties;
mod prove;
mod question_results;
mod questions;
mod recipe_queues;
mod replay;
mod rounds;
mod scenarios;
mod serve;
mod service_errors;
mod shell;
#[cfg(target_os = "linux")]
mod signal_flood;
mod silent_endpoints;
mod simulate;
#[path = "../support/skipped.rs"]
mod skipped;
mod small_groups;
mod stabilization;
#[path = "../../crates/web/tests/support/mod.rs"]
mod support;
mod swarm;
mod sweeps;
mod timeouts;
mod tls;
mod tolerance;
