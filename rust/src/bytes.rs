//! Checked reads of little-endian numbers.

use crate::error::{KernelError, Result};

/// Give `count` bytes from `offset` on, or say which bytes are missing.
pub fn slice<'a>(bytes: &'a [u8], offset: usize, count: usize, what: &str) -> Result<&'a [u8]> {
    offset.checked_add(count).and_then(|stop| bytes.get(offset..stop)).ok_or_else(|| {
        KernelError::Truncated(format!(
            "{what} is too short: got {} bytes, expected at least {}",
            bytes.len(),
            offset.saturating_add(count)
        ))
    })
}

/// Give `N` bytes from `offset` on as an array.
pub fn array<const N: usize>(bytes: &[u8], offset: usize, what: &str) -> Result<[u8; N]> {
    let mut value = [0; N];
    value.copy_from_slice(slice(bytes, offset, N, what)?);
    Ok(value)
}

/// Read a `u32`.
pub fn u32_at(bytes: &[u8], offset: usize, what: &str) -> Result<u32> {
    Ok(u32::from_le_bytes(array(bytes, offset, what)?))
}

/// Read an `i64`.
pub fn i64_at(bytes: &[u8], offset: usize, what: &str) -> Result<i64> {
    Ok(i64::from_le_bytes(array(bytes, offset, what)?))
}

/// Make a count of bytes a `u32`, as block headers hold it.
pub fn length_u32(length: usize, what: &str) -> Result<u32> {
    u32::try_from(length).map_err(|_| {
        KernelError::InvalidArgument(format!("{what} of {length} B is too large: at most 4 GiB"))
    })
}
