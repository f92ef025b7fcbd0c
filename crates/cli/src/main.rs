//! The command `tenure`; `tenure --help` says what it can do.

mod cmd;

fn main() -> std::process::ExitCode {
    cmd::main()
}
