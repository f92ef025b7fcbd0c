//! The bytes of a state file: written in one piece, believed only when every part agrees.

use std::fmt;

use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use thiserror::Error;

/// The version of the state file that this build writes, and the newest it reads.
pub const FORMAT_VERSION: u16 = 3;

/// The bytes that open every state file, whatever its version.
const MAGIC: [u8; 8] = *b"TENSTATE";

/// The bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 32;

/// Whose a state is: it means nothing to anybody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name of the cluster.
    pub cluster: String,
    /// The process.
    pub process: ProcessId,
    /// How many processes its group has.
    pub group_size: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner { cluster, process, group_size } = self;
        write!(f, "{process} of {group_size} in the cluster {cluster:?}")
    }
}

/// What a state file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// Whose it is; a file of version 1 does not say.
    pub(crate) owner: Option<Owner>,
    /// What the state is a state of.
    pub(crate) schema: String,
    /// The session of the process that wrote it.
    pub(crate) session: u64,
    /// The state; absent until one was saved.
    pub(crate) state: Option<Vec<u8>>,
    /// What was changed of it since, in order.
    pub(crate) changes: Vec<Vec<u8>>,
    /// The first segment whose changes come after these.
    pub(crate) segment: u64,
    /// How many changes there ever were.
    pub(crate) records: u64,
}

/// Why the bytes of a file are not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The file does not open with the bytes that every state file opens with.
    #[error("it is not a state file of tenure")]
    Foreign,
    /// A newer build wrote it. This is not damage, but nothing of it can be read.
    #[error("it has format version {found}, and this build reads up to {FORMAT_VERSION}")]
    NewerVersion {
        /// The version in the file.
        found: u16,
    },
    /// The file ends too early.
    #[error("it ends too early, after {length} bytes")]
    Torn {
        /// The length of the file, in bytes.
        length: usize,
    },
    /// The checksum does not fit what it covers.
    #[error("its checksum does not fit its content")]
    Checksum,
    /// What begins at a place in a file of changes is not what was written there, and it is not the
    /// end of what a crash cut off.
    #[error("what begins at its byte {offset} is hurt, and no crash leaves a file so")]
    Record {
        /// The place, in bytes from the beginning.
        offset: u64,
    },
    /// A file between this one and what comes before it is not there.
    #[error("{count} of the files before it are missing")]
    Missing {
        /// How many.
        count: u64,
    },
    /// The checksum fits, and still the parts do not agree: a defect, not the disk.
    #[error("its parts do not agree with each other")]
    Inconsistent,
}

impl Image {
    /// What a first boot finds.
    pub(crate) fn new(schema: &str) -> Self {
        let schema = schema.to_owned();
        let changes = Vec::new();
        Image { owner: None, schema, session: 0, state: None, changes, segment: 1, records: 0 }
    }

    /// The bytes of the file.
    ///
    /// # Panics
    ///
    /// When the schema or the name of the cluster is longer than 65 535 bytes, or nobody is the
    /// owner.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let schema = self.schema.as_bytes();
        let schema_length = u16::try_from(schema.len()).expect("a schema is a short name");
        let owner = self.owner.as_ref().expect("whoever writes a state owns it");
        let cluster = owner.cluster.as_bytes();
        let cluster_length = u16::try_from(cluster.len()).expect("a cluster has a short name");
        let state = self.state.as_deref().unwrap_or_default();
        let changes = self.changes.iter().map(|change| 4 + change.len()).sum::<usize>();
        let names = schema.len() + cluster.len();
        let mut bytes = Vec::with_capacity(59 + names + state.len() + changes + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&schema_length.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        bytes.push(u8::from(self.state.is_some()));
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&owner.process.0.to_le_bytes());
        bytes.extend_from_slice(&owner.group_size.to_le_bytes());
        bytes.extend_from_slice(&cluster_length.to_le_bytes());
        bytes.extend_from_slice(&self.segment.to_le_bytes());
        bytes.extend_from_slice(&self.records.to_le_bytes());
        bytes.extend_from_slice(&length_of(self.changes.len()));
        bytes.extend_from_slice(schema);
        bytes.extend_from_slice(cluster);
        bytes.extend_from_slice(state);
        for change in &self.changes {
            bytes.extend_from_slice(&length_of(change.len()));
            bytes.extend_from_slice(change);
        }
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Damage`], told in the order in which the file is read.
    pub(crate) fn decode(file: &[u8]) -> Result<Image, Damage> {
        let torn = Damage::Torn { length: file.len() };
        // A file shorter than the magic is torn if what there is agrees with it.
        if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) {
            return Err(Damage::Foreign);
        }
        let rest = file.get(MAGIC.len()..).ok_or(torn)?;
        let (version, _) = rest.split_first_chunk().ok_or(torn)?;
        let found = u16::from_le_bytes(*version);
        if found > FORMAT_VERSION {
            return Err(Damage::NewerVersion { found });
        }
        let (content, checksum) = file.split_last_chunk::<CHECKSUM_BYTES>().ok_or(torn)?;
        let matches = Sha256::digest(content).as_slice() == checksum;
        match (fields(content, found), matches) {
            (Some(image), true) => Ok(image),
            (None, true) => Err(Damage::Inconsistent),
            (Some(_), false) => Err(Damage::Checksum),
            // Lengths that do not add up: cut short, unless the lengths themselves are hurt.
            (None, false) => Err(torn),
        }
    }
}

fn length_of(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("a change has less than 4 GiB").to_le_bytes()
}

/// The parts of everything before the checksum, if they fill it exactly.
fn fields(content: &[u8], version: u16) -> Option<Image> {
    let mut rest = Fields(content.get(MAGIC.len() + size_of::<u16>()..)?);
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
        Owner { cluster, process, group_size }
    });
    rest.0.is_empty().then_some(Image { owner, schema, session, state, changes, segment, records })
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
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

    fn image() -> Image {
        let owner = Owner { cluster: "demo".into(), process: ProcessId(2), group_size: 5 };
        let (owner, state) = (Some(owner), Some(b"here".to_vec()));
        let changes = vec![b"one".to_vec(), Vec::new()];
        let schema = "token 1".into();
        Image { owner, schema, session: 7, state, changes, segment: 3, records: 9 }
    }

    #[test]
    fn what_is_written_is_read() {
        for state in [None, Some(Vec::new()), Some(vec![1, 2, 3])] {
            let changes = if state.is_none() { Vec::new() } else { image().changes };
            let image = Image { state, changes, ..image() };
            assert_eq!(Image::decode(&image.encode()), Ok(image));
        }
    }

    /// These bytes are in `docs/wire.md`, and other builds expect them.
    #[test]
    fn the_bytes_on_the_disk_are_those_of_the_document() {
        let expected = b"TENSTATE\x03\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0\
            \x02\0\0\0\x05\0\0\0\x04\0\x03\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\
            \x02\0\0\0token 1demohere\x03\0\0\0one\0\0\0\0";
        let bytes = image().encode();
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        assert_eq!(content, expected);
        assert_eq!(checksum, Sha256::digest(expected).as_slice());
    }

    #[test]
    fn a_file_of_version_1_is_read_and_is_of_nobody() {
        let mut file =
            b"TENSTATE\x01\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0token 1here".to_vec();
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        let nothing = Image { changes: Vec::new(), segment: 0, records: 0, ..image() };
        assert_eq!(Image::decode(&file), Ok(Image { owner: None, ..nothing }));
    }

    #[test]
    fn a_file_of_version_2_is_read_and_nothing_comes_after_it() {
        let mut file = b"TENSTATE\x02\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0\
            \x02\0\0\0\x05\0\0\0\x04\0token 1demohere"
            .to_vec();
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        let nothing = Image { changes: Vec::new(), segment: 0, records: 0, ..image() };
        assert_eq!(Image::decode(&file), Ok(nothing));
    }

    #[test]
    fn every_single_flipped_bit_is_noticed() {
        let whole = image().encode();
        for place in 0..whole.len() * 8 {
            let mut hurt = whole.clone();
            hurt[place / 8] ^= 1 << (place % 8);
            assert!(Image::decode(&hurt).is_err(), "bit {place}");
        }
    }

    #[test]
    fn every_cut_and_every_addition_is_noticed() {
        let whole = image().encode();
        for length in 0..whole.len() {
            let damage = Image::decode(&whole[..length]).expect_err("a cut file");
            assert_eq!(damage, Damage::Torn { length });
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert!(Image::decode(&longer).is_err());
    }

    #[test]
    fn a_newer_version_is_told_before_anything_else() {
        let mut newer = image().encode();
        newer[8] = 4;
        newer.truncate(12);
        assert_eq!(Image::decode(&newer), Err(Damage::NewerVersion { found: 4 }));
    }
}
