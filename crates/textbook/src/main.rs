//! The command `tenure` without the lock service: what `cargo run` at the root of the repository
//! builds. `cargo install --path crates/cli` installs all of it.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![], tenure::monitors![])
}
