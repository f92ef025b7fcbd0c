//! The command `tenure`; see `tenure --help`.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![])
}
