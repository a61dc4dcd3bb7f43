//! The encoding `pco`: numbers as pcodec compresses them, all of a block by one description, in pages of 4,096.
//!
//! Floats that are decimals become whole numbers first, and all whole numbers offsets from their smallest, over
//! their common divisor, in as few bytes as they fit in: what pcodec then sees is as regular as can be.  A page
//! can be decoded alone once the block's description is read.

mod encode;
mod layout;
mod pages;
#[cfg(test)]
mod tests;

pub use encode::encode;
pub use layout::Layout;
pub use pages::PageReader;

use crate::error::KernelError;
use ::pco::errors::{ErrorKind, PcoError};

/// Say in this crate's terms what pcodec found wrong.
fn failure(error: PcoError) -> KernelError {
    let reason = format!("pco: {}", error.message);
    match error.kind {
        ErrorKind::InsufficientData => KernelError::Truncated(reason),
        ErrorKind::InvalidArgument => KernelError::InvalidArgument(reason),
        _ => KernelError::Corrupt(reason),
    }
}
