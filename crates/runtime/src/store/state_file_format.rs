//! Encoding of the state file. The file is written as a whole, and checked completely when it is
//! read.

use std::fmt;

use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use thiserror::Error;

/// Version of the state file that this build writes. It is also the newest version that this build
/// reads.
pub const STATE_FILE_VERSION: u16 = 3;

const MAGIC: [u8; 8] = *b"TENSTATE";

const CHECKSUM_BYTES: usize = 32;

/// Process that owns a saved state. No other process may use the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOwner {
    /// Name of the cluster.
    pub cluster: String,
    /// Process that saved the state.
    pub process: ProcessId,
    /// Number of processes in the group of this process.
    pub group_size: u32,
}

impl fmt::Display for StateOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StateOwner { cluster, process, group_size } = self;
        write!(f, "{process} of {group_size} in the cluster {cluster:?}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateFile {
    /// Process that owns the state. `None` for a file of version 1, which contains no owner.
    pub(crate) owner: Option<StateOwner>,
    /// Name of the algorithm, and the version of its stable state.
    pub(crate) schema: String,
    /// Session that wrote the file. 0 if there is no file yet.
    pub(crate) session: u64,
    /// Saved state. `None` before the first save.
    pub(crate) state: Option<Vec<u8>>,
    /// Changes that apply to the saved state, in order.
    pub(crate) changes: Vec<Vec<u8>>,
    /// Number of the first segment whose changes are later than this file.
    pub(crate) first_later_segment: u64,
    /// Number of changes that were ever written to segments before the segment `segment`.
    pub(crate) earlier_record_count: u64,
}

/// Reason why a file of a store cannot be used. The file is the state file, a segment of changes,
/// or the membership record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnreadableReason {
    /// The file does not start with the expected magic number.
    #[error("it is not a file of tenure")]
    Foreign,
    /// A newer build wrote the file. It is not damaged, but this build cannot read it.
    #[error("it has format version {found}, and this build reads up to {newest}")]
    NewerVersion {
        /// Version of the file.
        found: u16,
        /// Newest version that this build reads. Each kind of file has its own versions.
        newest: u16,
    },
    /// The file is truncated, or a field is invalid and the checksum does not match.
    #[error("it is truncated after {length} bytes")]
    Torn {
        /// Length of the file, in bytes.
        length: usize,
    },
    /// The checksum does not match.
    #[error("its checksum does not match its content")]
    Checksum,
    /// A record of a segment is damaged. The cause is not an interrupted write.
    #[error("the record at byte {offset} is damaged, and not by a crash during the write")]
    Record {
        /// Position of the record in the segment, in bytes.
        offset: u64,
    },
    /// Some segments before this segment are missing. Also reported, with a count of 1, if there
    /// are changes but no saved state.
    #[error("{count} of the files before it are missing")]
    Missing {
        /// Number of missing files.
        count: u64,
    },
    /// The newest segment was deleted, but its marker still exists.
    #[error("it was deleted")]
    Deleted,
    /// The checksum matches, but the fields are invalid, or contradict each other or another file.
    /// The disk is not the cause.
    #[error("its parts contradict each other")]
    Inconsistent,
}

impl StateFile {
    pub(crate) fn new(schema: &str) -> Self {
        let schema = schema.to_owned();
        let changes = Vec::new();
        StateFile {
            owner: None,
            schema,
            session: 0,
            state: None,
            changes,
            first_later_segment: 1,
            earlier_record_count: 0,
        }
    }

    /// Encodes the file.
    ///
    /// # Panics
    ///
    /// If the schema or the name of the cluster is longer than 65,535 bytes, or there is no owner.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let schema = self.schema.as_bytes();
        let schema_length = u16::try_from(schema.len()).expect("a schema is a short name");
        let owner = self.owner.as_ref().expect("a written state has an owner");
        let cluster = owner.cluster.as_bytes();
        let cluster_length = u16::try_from(cluster.len()).expect("a cluster has a short name");
        let state = self.state.as_deref().unwrap_or_default();
        let changes = self.changes.iter().map(|change| 4 + change.len()).sum::<usize>();
        let names = schema.len() + cluster.len();
        let mut bytes = Vec::with_capacity(59 + names + state.len() + changes + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&STATE_FILE_VERSION.to_le_bytes());
        bytes.extend_from_slice(&schema_length.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        bytes.push(u8::from(self.state.is_some()));
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&owner.process.0.to_le_bytes());
        bytes.extend_from_slice(&owner.group_size.to_le_bytes());
        bytes.extend_from_slice(&cluster_length.to_le_bytes());
        bytes.extend_from_slice(&self.first_later_segment.to_le_bytes());
        bytes.extend_from_slice(&self.earlier_record_count.to_le_bytes());
        bytes.extend_from_slice(&encode_length(self.changes.len()));
        bytes.extend_from_slice(schema);
        bytes.extend_from_slice(cluster);
        bytes.extend_from_slice(state);
        for change in &self.changes {
            bytes.extend_from_slice(&encode_length(change.len()));
            bytes.extend_from_slice(change);
        }
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Decodes a file.
    ///
    /// # Errors
    ///
    /// [`UnreadableReason`], but never [`UnreadableReason::Record`], [`UnreadableReason::Missing`]
    /// or [`UnreadableReason::Deleted`].
    pub(crate) fn decode(file: &[u8]) -> Result<StateFile, UnreadableReason> {
        let torn = UnreadableReason::Torn { length: file.len() };
        // A file that contains only a part of the magic number is truncated, not foreign.
        if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) {
            return Err(UnreadableReason::Foreign);
        }
        let rest = file.get(MAGIC.len()..).ok_or(torn)?;
        let (version, _) = rest.split_first_chunk().ok_or(torn)?;
        let found = u16::from_le_bytes(*version);
        if found > STATE_FILE_VERSION {
            return Err(UnreadableReason::NewerVersion { found, newest: STATE_FILE_VERSION });
        }
        let (content, checksum) = file.split_last_chunk::<CHECKSUM_BYTES>().ok_or(torn)?;
        let matches = Sha256::digest(content).as_slice() == checksum;
        match (decode_fields(content, found), matches) {
            (Some(state_file), true) => Ok(state_file),
            (None, true) => Err(UnreadableReason::Inconsistent),
            (Some(_), false) => Err(UnreadableReason::Checksum),
            // A field is invalid and the checksum is wrong. The most probable cause is a truncated
            // file.
            (None, false) => Err(torn),
        }
    }
}

fn encode_length(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("a change has less than 4 GiB").to_le_bytes()
}

/// Decodes all fields before the checksum. Returns `None` if a field is invalid, or if the fields
/// are longer or shorter than `content`.
fn decode_fields(content: &[u8], version: u16) -> Option<StateFile> {
    let mut rest = FieldReader(content.get(MAGIC.len() + size_of::<u16>()..)?);
    let schema_length = usize::from(u16::from_le_bytes(rest.array()?));
    let session = u64::from_le_bytes(rest.array()?);
    let [presence] = rest.array()?;
    let state_length = usize::try_from(u64::from_le_bytes(rest.array()?)).ok()?;
    let owner = match version {
        1 => None,
        _ => Some((u32::from_le_bytes(rest.array()?), u32::from_le_bytes(rest.array()?))),
    };
    let cluster_length = match owner {
        None => 0,
        Some(_) => usize::from(u16::from_le_bytes(rest.array()?)),
    };
    let (segment, records, count) = match version {
        1 | 2 => (0, 0, 0),
        _ => (
            u64::from_le_bytes(rest.array()?),
            u64::from_le_bytes(rest.array()?),
            u32::from_le_bytes(rest.array()?),
        ),
    };
    let schema = String::from_utf8(rest.bytes(schema_length)?).ok()?;
    let cluster = String::from_utf8(rest.bytes(cluster_length)?).ok()?;
    let state = rest.bytes(state_length)?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let length = u32::from_le_bytes(rest.array()?);
        changes.push(rest.bytes(usize::try_from(length).ok()?)?);
    }
    let state = match presence {
        0 if state.is_empty() && changes.is_empty() => None,
        1 => Some(state),
        _ => return None,
    };
    let owner = owner.map(|(process, group_size)| {
        let process = ProcessId(process);
        StateOwner { cluster, process, group_size }
    });
    rest.0.is_empty().then_some(StateFile {
        owner,
        schema,
        session,
        state,
        changes,
        first_later_segment: segment,
        earlier_record_count: records,
    })
}

struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, length: usize) -> Option<Vec<u8>> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_file() -> StateFile {
        let owner = StateOwner { cluster: "demo".into(), process: ProcessId(2), group_size: 5 };
        let (owner, state) = (Some(owner), Some(b"here".to_vec()));
        let changes = vec![b"one".to_vec(), Vec::new()];
        let schema = "token 1".into();
        StateFile {
            owner,
            schema,
            session: 7,
            state,
            changes,
            first_later_segment: 3,
            earlier_record_count: 9,
        }
    }

    #[test]
    fn round_trip() {
        for state in [None, Some(Vec::new()), Some(vec![1, 2, 3])] {
            let changes = if state.is_none() { Vec::new() } else { state_file().changes };
            let state_file = StateFile { state, changes, ..state_file() };
            assert_eq!(StateFile::decode(&state_file.encode()), Ok(state_file));
        }
    }

    /// The encoding of a state file equals the bytes in `docs/wire.md`, on which other builds
    /// depend.
    #[test]
    fn encoding_matches_specification() {
        let expected = b"TENSTATE\x03\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0\
            \x02\0\0\0\x05\0\0\0\x04\0\x03\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\
            \x02\0\0\0token 1demohere\x03\0\0\0one\0\0\0\0";
        let bytes = state_file().encode();
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        assert_eq!(content, expected);
        assert_eq!(checksum, Sha256::digest(expected).as_slice());
    }

    #[test]
    fn reads_version_1_without_owner() {
        let mut file =
            b"TENSTATE\x01\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0token 1here".to_vec();
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        let nothing = StateFile {
            changes: Vec::new(),
            first_later_segment: 0,
            earlier_record_count: 0,
            ..state_file()
        };
        assert_eq!(StateFile::decode(&file), Ok(StateFile { owner: None, ..nothing }));
    }

    #[test]
    fn reads_version_2_without_changes() {
        let mut file = b"TENSTATE\x02\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0\
            \x02\0\0\0\x05\0\0\0\x04\0token 1demohere"
            .to_vec();
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        let nothing = StateFile {
            changes: Vec::new(),
            first_later_segment: 0,
            earlier_record_count: 0,
            ..state_file()
        };
        assert_eq!(StateFile::decode(&file), Ok(nothing));
    }

    #[test]
    fn detects_each_flipped_bit() {
        let whole = state_file().encode();
        for position in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            assert!(StateFile::decode(&damaged).is_err(), "bit {position}");
        }
    }

    #[test]
    fn detects_truncation_and_extra_bytes() {
        let whole = state_file().encode();
        for length in 0..whole.len() {
            let reason = StateFile::decode(&whole[..length]).expect_err("a truncated file");
            assert_eq!(reason, UnreadableReason::Torn { length });
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert!(StateFile::decode(&longer).is_err());
    }

    #[test]
    fn newer_version_is_reported_first() {
        let mut newer = state_file().encode();
        newer[8] = 4;
        newer.truncate(12);
        let expected = UnreadableReason::NewerVersion { found: 4, newest: STATE_FILE_VERSION };
        assert_eq!(StateFile::decode(&newer), Err(expected));
    }
}
