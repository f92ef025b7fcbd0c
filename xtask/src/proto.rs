//! `cargo xtask proto`: generates Rust code from the server's protobuf definitions.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Directory of the generated code. The code is committed, so that a build of Tenure needs no
/// protobuf compiler.
const GENERATED: &str = "crates/etcd/src";

pub(crate) fn main(root: &Path, write: bool) -> ExitCode {
    let generated = root.join(GENERATED);
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("xtask proto: no temporary folder: {error}");
            return ExitCode::from(2);
        }
    };
    let destination = if write { generated.clone() } else { folder.path().to_path_buf() };
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("proto/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/proto"))
        .arg("--")
        .arg(&destination)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("xtask proto: compilation of the protobufs failed");
        return ExitCode::from(1);
    }
    let stale = if write { Vec::new() } else { differing_files(folder.path(), &generated) };
    for name in &stale {
        println!("{GENERATED}/{name} is stale; run `cargo xtask proto`");
    }
    ExitCode::from(u8::from(!stale.is_empty()))
}

/// Compares the directory `one` with the directory `other`. Returns the names of the files in `one`
/// that are missing in `other` or have other contents in `other`.
fn differing_files(one: &Path, other: &Path) -> Vec<String> {
    let files = fs::read_dir(one).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| fs::read(one.join(name)).ok() != fs::read(other.join(name)).ok()).collect()
}
