//! The highest fencing token of each resource of a server.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::fencing::fence_error::FenceError;
use crate::fencing::fence_file::{FenceFile, FencedAccessGuard};
use crate::fencing::reject_stale;

/// Maximum length of a resource name, in bytes. The hexadecimal form of the name must fit in a file
/// name.
pub(crate) const MAX_RESOURCE_NAME_BYTES: usize = 120;

/// Mutex with the highest token of one resource. A request holds the mutex while it uses the
/// resource.
type Gate = Arc<tokio::sync::Mutex<u64>>;

#[derive(Debug)]
pub(crate) struct FenceRegistry {
    /// Gates of the resources, by the name of the resource.
    gates: Mutex<HashMap<String, Gate>>,
    /// Directory with one fence file for each resource; `None` if the tokens are kept only in
    /// memory.
    directory: Option<PathBuf>,
}

/// Exclusive access of one request to one resource. The access ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct ResourceAccess {
    _gate: OwnedMutexGuard<u64>,
    _file: Option<FencedAccessGuard>,
}

impl FenceRegistry {
    /// Creates a registry. If `directory` is given, the registry keeps the tokens in files in this
    /// directory, and begins with the tokens of the existing files. Otherwise, it begins without
    /// tokens.
    pub(crate) fn new(directory: Option<PathBuf>) -> FenceRegistry {
        FenceRegistry { gates: Mutex::new(HashMap::new()), directory }
    }

    /// Waits until no other request uses the resource `name`. Then accepts the token `fence` if the
    /// resource has seen no higher token, and returns an error otherwise.
    pub(crate) async fn admit(&self, name: &str, fence: u64) -> Result<ResourceAccess, FenceError> {
        let gate = self.gates().entry(name.to_owned()).or_default().clone();
        let mut highest = gate.lock_owned().await;
        reject_stale(fence, *highest)?;
        let file = match &self.directory {
            Some(directory) => Some(admit_in_file(directory.join(file_name(name)), fence).await?),
            None => None,
        };
        *highest = fence;
        Ok(ResourceAccess { _gate: highest, _file: file })
    }

    /// Removes from memory the gates that no request uses, if the tokens are stored in files. The
    /// files stay.
    pub(crate) fn evict_idle_gates(&self) {
        if self.directory.is_some() {
            self.gates().retain(|_, gate| Arc::strong_count(gate) > 1);
        }
    }

    fn gates(&self) -> MutexGuard<'_, HashMap<String, Gate>> {
        // The map is consistent even if a thread has panicked.
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn admit_in_file(path: PathBuf, fence: u64) -> Result<FencedAccessGuard, FenceError> {
    let file = FenceFile::new(&path);
    let admitted = tokio::task::spawn_blocking(move || file.admit(fence)).await;
    admitted.unwrap_or_else(|error| Err(FenceError::File { path, source: io::Error::other(error) }))
}

/// Returns the name of the fence file of the resource `name`. The name of the file consists of the
/// bytes of `name` in hexadecimal digits.
fn file_name(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
