//! The encoding `bitpack`: groups of 1,024 values, each as bit-packed offsets from a base of its own.
//!
//! A block, little-endian, no gaps:
//!
//! ```text
//! header, 16 bytes
//!    0 kind        u8   0 integers, 1 decimals
//!    1 mode        u8   0 frame, 1 delta
//!    2 exponent    u8   decimals: a value is k / 10^exponent, 0 to 18; integers: 0
//!    3 reserved    u8   0
//!    4 rows        u32  as in the block index
//!    8 exceptions  u32  0 for integers
//!   12 packed      u32  bytes of all packed groups
//! group table: one entry for each 1,024 values, 16 bytes, with deltas 24
//!    0 base        i64
//!    8 offset      u32  first byte of the group, from the start of the packed groups
//!   12 width       u8   bits of a packed number, 0 to 64; to 32 for integers of at most 32 bits
//!   13 reserved    3    0
//!   16 first       i64  only with deltas: the first value
//! packed groups: 32 * width bytes for each 256 values of a group, the last 256 padded with zeros
//! exceptions, ascending by position
//!      bits        8 or 4 bytes each: the floats as they are
//!      positions   u32 each: row within the block
//! ```
//!
//! Value i of 256 lies in lane i % 8, row i / 8 of 32-bit words; for widths above 32 in lane i % 4, row i / 4 of
//! 64-bit words. Word n of lane l is word n * lanes + l. Within a lane the rows follow each other from the lowest
//! bit on, across words.
//!
//! With p_i the packed number, a frame gives v_i = base + p_i, a delta v_0 = first and v_i = v_{i-1} + base + p_i;
//! p_0 is 0. Integers of up to 32 bits are added modulo 2^32 and cut to their width, unsigned ones packed as the
//! signed numbers of the same bits; all others, and the k of decimals, modulo 2^64. A decimal is the float64
//! nearest to k / 10^exponent, |k| <= 2^51, rounded once more for float32. At the row of an exception k is any.
//!
//! A block that would not be smaller than its values is stored plain.

mod decode;
mod encode;
mod groups;
mod layout;
mod pack;
#[cfg(test)]
mod tests;
mod unpack;

pub use encode::encode;
pub use groups::{GroupReader, Span};
pub use layout::{Kind, Layout, Mode};
pub(crate) use pack::pack_sub_block;
pub(crate) use unpack::{extract, unpack_32};
