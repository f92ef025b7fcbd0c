//! Writes and reads key files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tenure_core::ProcessId;
use tenure_runtime::transport::{GroupPublicKeys, NodeKeys, PrivateKey};

use super::KeyFileError;
use crate::config::ClusterConfig;

/// Returns the path of the private key of `process` in a directory that [`create_key_files`]
/// creates.
pub fn private_key_file(directory: &Path, process: ProcessId) -> PathBuf {
    directory.join(format!("p{}.key", process.display_number()))
}

/// Returns the path of the file with all public keys in a directory that [`create_key_files`]
/// creates.
pub fn public_keys_file(directory: &Path) -> PathBuf {
    directory.join("public.keys")
}

/// Creates keys for a group of `size` processes in a directory. The directory is created if it is
/// missing. Each process gets a file with its private key, which only the owner may read. Another
/// file contains all public keys.
///
/// # Errors
///
/// [`KeyFileError`]. Existing files are never changed. Files that were created before the error are
/// removed.
pub fn create_key_files(directory: &Path, size: u32) -> Result<(), KeyFileError> {
    let unwritable =
        |path: &Path, source| KeyFileError::Unwritable { path: path.to_path_buf(), source };
    fs::create_dir_all(directory).map_err(|source| unwritable(directory, source))?;
    let processes = || (0..size).map(ProcessId);
    let public_path = public_keys_file(directory);
    let taken = processes().map(|process| private_key_file(directory, process));
    let paths: Vec<PathBuf> = taken.chain([public_path.clone()]).collect();
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(KeyFileError::Exists { path: path.clone() });
    }
    let mut of = Vec::new();
    let mut texts = Vec::new();
    for process in processes() {
        let path = private_key_file(directory, process);
        let key = PrivateKey::generate().map_err(|source| unwritable(&path, source))?;
        texts.push(format!(
            "# The private key of {process}. Keep it secret: its owner can impersonate \
             {process}.\n{}\n",
            key.text()
        ));
        of.push(vec![key.public()]);
    }
    let group = GroupPublicKeys::new(of).expect("new keys are distinct");
    texts.push(format!(
        "# Public keys of all processes. A process has two lines while it changes its \
         key.\n{}",
        group.text()
    ));
    for (place, (path, text)) in paths.iter().zip(&texts).enumerate() {
        let mode = if *path == public_path { 0o644 } else { 0o600 };
        if let Err(source) = write_new(path, mode, text) {
            paths[..place].iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(unwritable(path, source));
        }
    }
    Ok(())
}

/// Creates a file. If the text cannot be written, removes the file.
fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// Reads the key files that a configuration names; `None` if it names no files.
pub(crate) fn read_keys(
    cluster: &ClusterConfig,
    me: ProcessId,
) -> Result<Option<NodeKeys>, KeyFileError> {
    let (Some(private), Some(public)) = (&cluster.private_key, &cluster.public_keys) else {
        return Ok(None);
    };
    let invalid = |path: &Path, source| KeyFileError::Invalid { path: path.to_path_buf(), source };
    let unreadable =
        |path: &Path, source| KeyFileError::Unreadable { path: path.to_path_buf(), source };
    let text = fs::read_to_string(public).map_err(|source| unreadable(public, source))?;
    let group = GroupPublicKeys::parse(&text, cluster.addresses.len());
    let group = group.map_err(|source| invalid(public, source))?;
    let (text, metadata) = read_private(private).map_err(|source| unreadable(private, source))?;
    let mode = metadata.mode() & 0o7777;
    if PrivateKey::is_key_file_exposed(mode, metadata.uid()) {
        return Err(KeyFileError::Exposed { path: private.clone(), mode });
    }
    let mine = PrivateKey::parse(&text).map_err(|source| invalid(private, source))?;
    NodeKeys::new(me, mine, group).map(Some).map_err(|source| invalid(private, source))
}

fn read_private(path: &Path) -> io::Result<(String, Metadata)> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok((text, metadata))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tenure_runtime::transport::PeerAuthentication;

    use super::*;
    use crate::keys::peer_authentication;

    const P2: ProcessId = ProcessId(1);

    fn cluster(directory: &Path, size: usize) -> ClusterConfig {
        ClusterConfig {
            name: "demo".into(),
            me: 2,
            addresses: vec!["127.0.0.1:1".into(); size],
            listen: None,
            private_key: Some(private_key_file(directory, P2)),
            public_keys: Some(public_keys_file(directory)),
            insecure: false,
        }
    }

    #[test]
    fn created_keys_are_accepted() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("not/yet/there");
        create_key_files(&directory, 3).unwrap();
        assert!(matches!(
            peer_authentication(&cluster(&directory, 3), P2),
            Ok(PeerAuthentication::Keys(_))
        ));
        let error = create_key_files(&directory, 3).unwrap_err();
        assert!(matches!(error, KeyFileError::Exists { .. }), "{error}");
        for size in [2, 4] {
            let error = read_keys(&cluster(&directory, size), P2).unwrap_err().to_string();
            assert!(error.contains(&format!("the {size} processes")) || size == 2, "{error}");
        }
        let error = read_keys(&cluster(&directory, 3), ProcessId(0)).unwrap_err().to_string();
        assert!(error.contains("not listed for P1"), "{error}");
    }

    #[test]
    fn rejects_private_key_that_others_can_read() {
        let place = tempfile::tempdir().unwrap();
        create_key_files(place.path(), 2).unwrap();
        let path = private_key_file(place.path(), P2);
        for mode in [0o604, 0o660, 0o610] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read_keys(&cluster(place.path(), 2), P2).unwrap_err();
            assert!(matches!(error, KeyFileError::Exposed { .. }), "{error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(read_keys(&cluster(place.path(), 2), P2).is_ok());
        }
    }
}
