//! What bytes come and go by, whether they are sealed or not.

use std::io::{Read, Write};

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection, for whoever does something else meanwhile.
pub(crate) type Wire = Box<dyn Flowing>;

/// What comes and goes.
pub(crate) trait Flowing: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Flowing for T {}

/// A connection, for whoever waits.
pub type BlockingWire = Box<dyn ReadWrite>;

/// What can be read and written.
pub trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}
