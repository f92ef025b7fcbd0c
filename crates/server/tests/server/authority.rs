//! Test certificates, created by `openssl`.

use std::path::Path;
use std::process::Command;

fn openssl(folder: &Path, line: &str) -> Option<()> {
    let mut command = Command::new("openssl");
    let made = command.args(line.split(' ')).current_dir(folder).output().ok()?;
    assert!(made.status.success(), "{line}: {}", String::from_utf8_lossy(&made.stderr));
    Some(())
}

/// Creates a certificate authority and a certificate for this machine, as files in `folder`. The
/// names of the files begin with `ca` and `named`. Returns `None` if `openssl` is not installed.
pub(crate) fn authority(folder: &Path, ca: &str, named: &str) -> Option<()> {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        folder,
        &format!("req -x509 {key} -keyout {ca}.key -out {ca}.pem -days 2 -subj /CN={ca}"),
    )?;
    openssl(
        folder,
        &format!(
            "req -x509 {key} -keyout {named}.key -out {named}.pem -days 2 -subj /CN={named} -CA \
             {ca}.pem -CAkey {ca}.key -addext subjectAltName=IP:127.0.0.1 -addext \
             basicConstraints=critical,CA:FALSE"
        ),
    )
}
