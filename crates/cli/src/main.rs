//! The command `tenure`. Its options are described by `tenure --help`.

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![], tenure::monitors![])
}
