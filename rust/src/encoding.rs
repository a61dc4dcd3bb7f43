//! The encodings: how the values of a block are transformed before the codec.

use crate::error::{KernelError, Result};

/// A type-aware transform of a block's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// Values as they are, little-endian.
    Plain = 0,
    /// Groups of 1,024 values as bit-packed offsets from a base; see `bitpack`.
    Bitpack = 1,
    /// Whole numbers or floats as pcodec compresses them, in pages of 4,096; see `pco`.
    Pco = 2,
    /// Values split into byte planes; see `planes`.
    Bytes = 3,
    /// Each distinct value once, and a code for each row; see `dict`.
    Dict = 4,
    /// Each run of equal values once, with its end; see `runs`.
    Runs = 5,
}

impl Encoding {
    /// Every encoding, by ascending id.
    pub const ALL: [Self; 6] = [Self::Plain, Self::Bitpack, Self::Pco, Self::Bytes, Self::Dict, Self::Runs];

    /// Read an encoding from its id.
    pub fn from_id(id: u8) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| *encoding as u8 == id)
            .ok_or_else(|| KernelError::Corrupt(format!("unknown encoding id {id}")))
    }

    /// Find an encoding by the name that users write.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            KernelError::InvalidArgument(format!("unknown encoding '{name}'; there are {known}"))
        })
    }

    /// The name that users write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Bitpack => "bitpack",
            Self::Pco => "pco",
            Self::Bytes => "bytes",
            Self::Dict => "dict",
            Self::Runs => "runs",
        }
    }
}
