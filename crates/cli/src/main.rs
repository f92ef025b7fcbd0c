//! The command `tenure`. `tenure --help` describes its options.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![], tenure::monitors![])
}
