//! Hot loops and byte formats of Colonnade, a tick database.
//!
//! Everything outside `python` is pure: bytes and slices in, bytes and slices out, no Python, no threads, no
//! I/O, no clocks and no policy.  `docs/format.md` defines the bytes, `docs/architecture.md` the way of the data.

pub mod asof;
pub mod bitpack;
pub mod block;
pub mod block_index;
mod bytes;
pub mod checksum;
pub mod codec;
mod codes;
pub mod column;
pub mod cursor;
mod decimal;
mod decimals;
mod dict;
pub mod encoding;
pub mod error;
pub mod fold;
pub mod isa;
mod numerals;
mod pco;
mod plain;
mod planes;
pub mod program;
#[cfg(feature = "python")]
mod python;
pub mod reader;
mod runs;
pub mod search;
mod short_texts;
mod strings;
pub mod zone_map;
