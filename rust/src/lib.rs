//! Hot loops and byte formats of Colonnade, a tick database.
//!
//! Everything outside `python` is pure: bytes and slices in, bytes and slices out, no Python, no threads, no
//! I/O, no clocks and no policy.  `docs/format.md` defines the bytes, `docs/architecture.md` the way of the data.

pub mod error;
#[cfg(feature = "python")]
mod python;
