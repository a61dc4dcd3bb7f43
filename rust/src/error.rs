//! The kinds of failure that a kernel reports.

use std::fmt;

/// What went wrong in a kernel; `python::error` gives each kind its exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelError {
    /// There are fewer bytes than there must be.
    Truncated(String),
    /// A checksum does not match the bytes it covers.
    Checksum(String),
    /// Bytes hold values that cannot be.
    Corrupt(String),
    /// Written by a newer version.
    UnsupportedVersion(String),
    /// The caller asked for something that no kernel does.
    Unsupported(String),
    /// The caller passed an argument that cannot be.
    InvalidArgument(String),
    /// An integer sum left the range of int64.
    Overflow(String),
    /// Rows are promised to be sorted, and are not.
    Unsorted(String),
}

impl fmt::Display for KernelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(text)
            | Self::Checksum(text)
            | Self::Corrupt(text)
            | Self::UnsupportedVersion(text)
            | Self::Unsupported(text)
            | Self::InvalidArgument(text)
            | Self::Overflow(text)
            | Self::Unsorted(text) => formatter.write_str(text),
        }
    }
}

impl std::error::Error for KernelError {}

/// Result of a kernel.
pub type Result<T> = std::result::Result<T, KernelError>;
