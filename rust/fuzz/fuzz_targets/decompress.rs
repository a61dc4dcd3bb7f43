//! Any bytes under any codec: bytes of the expected number, or an error.

#![no_main]

use colonnade_kernels::codec::{Codec, Compressor, Decompressor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, i8, &[u8])| {
    let (codec, length, level, bytes) = input;
    let codec = Codec::ALL[usize::from(codec) % Codec::ALL.len()];
    let mut decompressor = Decompressor::default();
    let mut out = vec![0; usize::from(length)];
    let result = decompressor.decompress(codec, bytes, &mut out);
    assert!(result.is_err() || out.len() <= codec.most_bytes(bytes.len()));
    // What the codec makes of these bytes comes back.
    let compressed = Compressor::new(codec, i32::from(level.clamp(1, 9)))
        .and_then(|mut compressor| compressor.compress(bytes))
        .expect("any bytes can be compressed");
    if let Some(compressed) = compressed {
        let mut out = vec![0; bytes.len()];
        decompressor.decompress(codec, &compressed, &mut out).expect("what was compressed decompresses");
        assert!(out == bytes);
        assert!(bytes.len() <= codec.most_bytes(compressed.len()));
    }
});
