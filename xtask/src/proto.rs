//! `cargo xtask proto`: generates Rust code from the server's protobuf definitions.
//!
//! The code is committed, so that a build of Tenure needs no protobuf compiler. Checksums of the
//! protobufs, the generator and the code are committed, too. The check compares them with the
//! files, and needs no generator.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use sha2::{Digest, Sha256};

/// Directory of the generated code.
const GENERATED: &str = "crates/etcd/src";

/// List of checksums, in the format of `sha256sum`.
const CHECKSUMS: &str = "proto/generated.sha256";

/// Files in the directory of the generated code that are written by hand.
const WRITTEN_BY_HAND: [&str; 2] = ["frames.rs", "lib.rs"];

/// Generates the code, or checks that the committed code is current if `write` is false.
pub(crate) fn main(root: &Path, write: bool) -> ExitCode {
    if write && !generate(root) {
        eprintln!("xtask proto: compilation of the protobufs failed");
        return ExitCode::FAILURE;
    }
    let checksums = match checksums(root) {
        Ok(checksums) => checksums,
        Err(error) => {
            eprintln!("xtask proto: the protobufs or the generated code cannot be read: {error}");
            return ExitCode::from(2);
        }
    };
    let path = root.join(CHECKSUMS);
    if write {
        if let Err(error) = fs::write(&path, checksums) {
            eprintln!("xtask proto: cannot write {CHECKSUMS}: {error}");
            return ExitCode::from(2);
        }
        return ExitCode::SUCCESS;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let changed = changed_files(&committed, &checksums);
    for name in &changed {
        println!("{name} has changed since the code was generated; run `cargo xtask proto`");
    }
    ExitCode::from(u8::from(!changed.is_empty()))
}

/// Executes the generator. Returns true if it succeeded.
fn generate(root: &Path) -> bool {
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("proto/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/proto"))
        .arg("--")
        .arg(root.join(GENERATED))
        .status();
    status.is_ok_and(|status| status.success())
}

/// Returns the list of checksums of the protobufs, the generator and the generated code.
fn checksums(root: &Path) -> io::Result<String> {
    let generator = ["proto/Cargo.lock", "proto/Cargo.toml", "proto/src/main.rs"];
    let mut files = generator.map(PathBuf::from).to_vec();
    for folder in ["proto/etcd", GENERATED] {
        for entry in fs::read_dir(root.join(folder))? {
            let name = entry?.file_name();
            if !WRITTEN_BY_HAND.iter().any(|it| name == **it) {
                files.push(Path::new(folder).join(name));
            }
        }
    }
    files.sort();
    let mut list = String::new();
    for file in files {
        let sum = hex::encode(Sha256::digest(fs::read(root.join(&file))?));
        writeln!(list, "{sum}  {}", file.display()).expect("a string can be extended");
    }
    Ok(list)
}

/// Returns the names of the files whose checksums differ or that are in one of the lists only.
fn changed_files<'a>(committed: &'a str, present: &'a str) -> BTreeSet<&'a str> {
    let lines = |list: &'a str| list.lines().collect::<BTreeSet<_>>();
    let differing = &lines(committed) ^ &lines(present);
    differing.into_iter().map(|line| line.rsplit("  ").next().unwrap_or(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::changed_files;

    #[test]
    fn changed_missing_and_new_files_are_found() {
        let committed = "11  same\n22  changed\n33  missing\n";
        let present = "11  same\n44  changed\n55  new\n";
        let changed = changed_files(committed, present).into_iter().collect::<Vec<_>>();
        assert_eq!(changed, ["changed", "missing", "new"]);
        assert!(changed_files(committed, committed).is_empty());
    }
}
