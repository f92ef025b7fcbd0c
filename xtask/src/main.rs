//! Repository checks and generators: `cargo xtask <command>`.
#![allow(clippy::print_stdout, reason = "the command line prints its results")]

mod attack;
mod book;
mod demonstration;
mod docs;
mod expect;
mod page;
mod parallel;
mod pictures;
mod program;
mod proto;
mod site;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy [FOLDER]             check the architecture and the house rules
  ratchet                   lower the limits of prose idioms to the present counts
  docs [--check] [PAGE]     generate the pages of cards and measured runs, or check that they are
                            current; --tenure FILE uses that program
  book [--check] [PAGE …]   run the commands of the book and update their output, or check that
                            it is current; --tenure FILE uses that program
  pictures [--check]        draw the pictures of the worked examples, or check that they are current
  page [--wasm FILE] [--out FILE]
                            write simulator, checker, questions and book as one HTML file, by
                            default target/page.html
  site [--out FOLDER] [--wasm FILE] [--tenure FILE] [--repository URL] [--without-api]
                            write a folder for a static host: page, book, documents, algorithms
                            and library; by default target/site
  proto [--check]           generate Rust from the server's protobufs, or check that it is current
  attack [KIND] [--seeds A..B] [--seconds N]
                            run attack tests against real processes: files, faults, lasting, bytes,
                            messages, and others
  expect FILE KEY=VALUE …   check figures in a JSON report, for example `counter.lost=0`

exit status: 0 success, 1 failure, 2 invalid usage
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy::main(&root()),
        ["tidy", folder] => tidy::main(Path::new(folder)),
        ["ratchet"] => tidy::lower_prose_limits(&root()),
        ["docs", arguments @ ..] => docs::main(&root(), arguments),
        ["pictures"] => pictures::main(&root(), true),
        ["pictures", "--check"] => pictures::main(&root(), false),
        ["proto"] => proto::main(&root(), true),
        ["proto", "--check"] => proto::main(&root(), false),
        ["page", arguments @ ..] => page::main(&root(), arguments),
        ["site", arguments @ ..] => site::main(&root(), arguments),
        ["book", arguments @ ..] => book::main(&root(), arguments),
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

/// Returns the root of the repository, the parent of the directory of this crate.
///
/// At run time, Cargo sets the directory of this crate in an environment variable. If the variable
/// is missing, the directory at build time is used. This directory is wrong if another clone of the
/// repository has built the program.
fn root() -> PathBuf {
    let built_in = env!("CARGO_MANIFEST_DIR");
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| built_in.into());
    let root = Path::new(&here).parent();
    root.expect("xtask is a directory of the repository").to_path_buf()
}
