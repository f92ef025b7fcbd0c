//! The command `tenure`; `tenure --help` says what it can do.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![])
}
