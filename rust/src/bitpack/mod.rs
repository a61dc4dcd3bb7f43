//! The encoding `bitpack`: groups of 1,024 values, each as bit-packed offsets from a base of its own.
//!
//! A block, little-endian, no gaps:
//!
//! ```text
//! header, 16 bytes, in layout 1 32 and the ranks
//!    0 kind        u8   0 integers, 1 decimals, in layout 1 also 2 ranks: of bytes only
//!    1 mode        u8   layout 0: 0 frame, 1 delta; layout 1: 0
//!    2 exponent    u8   decimals: a value is k / 10^exponent, 0 to 18; others: 0
//!    3 layout      u8   0 or 1; format 1 has 0 only, and format 2 writes 1 only
//!    4 rows        u32  as in the block index
//!    8 exceptions  u32  0 but for decimals
//!   12 packed      u32  bytes of all packed groups
//!   16 divisor     u64  layout 1: multiplies the numbers of scaled groups, 1 or more; ranks: how many there are, 1 to 256
//!   24 common      i64  layout 1: the value that sparse groups leave out
//!   32 ranks       u8 each  layout 1, ranks: the byte of each rank
//! group table, layout 0: one entry for each 1,024 values, 16 bytes, with deltas 24
//!    0 base        i64
//!    8 offset      u32  first byte of the group, from the start of the packed groups
//!   12 width       u8   bits of a packed number, 0 to 64; to 32 for integers of at most 32 bits
//!   13 reserved    3    0
//!   16 first       i64  only with deltas: the first value
//! group table, layout 1: one entry for each 1,024 values, 8 bytes and the base
//!    0 offset      u32  first byte of the group, from the start of the packed groups
//!    4 patches     u16  numbers that take more bits than the width
//!    6 width       u8   as above
//!    7 flags       u8   1 delta, 2 sparse, 4 scaled; the upper four bits: bytes of a patch, 1 to 8, 0 without patches
//!    8 base        signed, as many bytes as a value, for decimals 8
//! group, layout 0: the packed numbers
//! group, layout 1:
//!      first       as the base; only with delta: the first value
//!      present     one bit a value, the least significant of each byte first, (count + 7) / 8 bytes; only with sparse
//!      patch bits  of each patch the bits of the number from the width on
//!      places      u16 each: place of the patch among the packed numbers, ascending
//!      packed numbers
//! packed numbers: 32 * width bytes for each 256 of them, the last 256 padded with zeros
//! exceptions, ascending by position
//!      bits        8 or 4 bytes each: the floats as they are
//!      positions   u32 each: row within the block
//! ```
//!
//! Value i of 256 lies in lane i % 8, row i / 8 of 32-bit words; for widths above 32 in lane i % 4, row i / 4 of
//! 64-bit words. Word n of lane l is word n * lanes + l. Within a lane the rows follow each other from the lowest
//! bit on, across words.
//!
//! With p_i the packed number, a patch put above its low bits, and d the divisor of a scaled group, else 1, a frame
//! gives v_i = base + d p_i, a delta v_0 = first and v_i = v_{i-1} + base + d p_i; p_0 is 0. A sparse group has a
//! number for each 1 bit of `present`, in order, and the common value elsewhere. Integers of up to 32 bits are
//! added and multiplied modulo 2^32 and cut to their width, unsigned ones packed as the signed numbers of the same
//! bits; all others, and the k of decimals, modulo 2^64. A decimal is the float64 nearest to k / 10^exponent, |k|
//! <= 2^51, rounded once more for float32. At the row of an exception k is any. Of kind 2, v_i is a rank, and the
//! value the byte that has it.
//!
//! A block that would not be smaller than its values is stored plain.

mod decode;
mod encode;
mod groups;
mod layout;
mod pack;
mod plan;
mod ranks;
#[cfg(test)]
mod tests;
mod unpack;
mod whole;

pub use encode::encode;
pub use groups::{GroupReader, Span};
pub use layout::{Kind, Layout};
pub(crate) use pack::pack_sub_block;
pub(crate) use unpack::{extract, unpack_32};
