//! Repository checks and generators: `cargo xtask <command>`.
#![allow(clippy::print_stdout, reason = "a command line speaks through standard output")]

mod attack;
mod book;
mod docs;
mod expect;
mod hands;
#[cfg(feature = "mutants")]
mod mutants;
mod pictures;
mod program;
mod proto;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy [FOLDER]             check the laws of the architecture and the house rules
  ratchet                   lower the limits of prose idioms to the present counts
  docs [--check] [PAGE]     make the pages of cards and measured runs, or see whether they are
                            current; --tenure FILE runs that command
  book [--check] [PAGE …]   run the commands of the book, and write down what they print, or see
                            whether it is what the book says; --tenure FILE runs that command
  pictures [--check]        draw the worked examples, or see whether their pictures are current
  proto [--check]           make Rust of the protobufs of the server, or see whether it is current
  attack [KIND] [--seeds A..B] [--seconds N]
                            hurt and lie to real processes: files, faults, lasting, bytes, messages
  mutants [--seed S] [--count N] [--more M] [FILE …]
                            change algorithms by one operator: which default command shows it?
                            N of all files and M more of those named, or N of those named
                            (`cargo mutate`, which builds this with the feature `mutants`)
  expect FILE KEY=VALUE …   check figures in a JSON report, as in `counter.lost=0`

exit status: 0 all is well, 1 something is not, 2 usage
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy::main(&root()),
        ["tidy", folder] => tidy::main(Path::new(folder)),
        ["ratchet"] => tidy::lower_prose_limits(&root()),
        ["docs", wishes @ ..] => docs::main(&root(), wishes),
        ["pictures"] => pictures::main(&root(), true),
        ["pictures", "--check"] => pictures::main(&root(), false),
        ["proto"] => proto::main(&root(), true),
        ["proto", "--check"] => proto::main(&root(), false),
        ["book", wishes @ ..] => book::main(&root(), wishes),
        #[cfg(feature = "mutants")]
        ["mutants", words @ ..] => mutants::main(&root(), words),
        ["attack", words @ ..] => attack::main(&root(), words),
        ["expect", file, expectations @ ..] if !expectations.is_empty() => {
            expect::main(Path::new(file), expectations)
        }
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The root of the repository: the parent of this crate.
///
/// Cargo tells where that is when it runs us. The folder of the build is second best, since
/// clones that share a target folder share the binary too.
fn root() -> PathBuf {
    let built_in = env!("CARGO_MANIFEST_DIR");
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| built_in.into());
    let root = Path::new(&here).parent();
    root.expect("xtask lies in the repository's root").to_path_buf()
}
