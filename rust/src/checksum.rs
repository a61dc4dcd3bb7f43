//! Checksums of stored bytes and hashes of decoded values.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes that are hashed at a time by [`hash_values`]; calls may be cut at multiples of it.
pub const HASH_SLAB: usize = 1 << 20;

/// CRC-32C (Castagnoli) of the stored bytes of a block.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Hash values: XXH3-64 of each slab of 1 MiB in turn, seeded with the hash so far, 0 at first.
///
/// A long column may be hashed by several calls, each of a whole number of slabs except the last.
pub fn hash_values(bytes: &[u8], seed: u64) -> u64 {
    bytes.chunks(HASH_SLAB).fold(seed, |hash, slab| xxh3_64_with_seed(slab, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_gives_the_check_value_of_its_definition() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn hash_may_be_cut_at_slabs() {
        let bytes: Vec<u8> = (0..HASH_SLAB * 2 + 5).map(|i| (i % 251) as u8).collect();
        let (head, tail) = bytes.split_at(HASH_SLAB);
        assert_eq!(hash_values(tail, hash_values(head, 0)), hash_values(&bytes, 0));
    }
}
