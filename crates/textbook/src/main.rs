//! The command `tenure` without the lock service. `cargo run` at the root of the repository builds
//! this command. `cargo install --path crates/cli` installs the command with the lock service.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![], tenure::monitors![])
}
