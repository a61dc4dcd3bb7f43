//! Any texts under any compression come back.

#![no_main]

use colonnade_kernels::block::BlockWriter;
use colonnade_kernels::block_index::{self, BlockIndex};
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::reader::Reader;
use colonnade_kernels::zone_map::Nulls;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u8, bool, &str)| {
    let (encoding, codec, log2_rows, is_numeric, text) = input;
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    let codec = if encoding == Encoding::Pco {
        Codec::None
    } else {
        Codec::ALL[usize::from(codec) % Codec::ALL.len()]
    };
    let texts: Vec<String> = if is_numeric {
        text.as_bytes().chunks(8).map(|bytes| number_of(bytes).to_string()).collect()
    } else {
        text.split('\n').map(str::to_owned).collect()
    };
    let lengths: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
    let block_rows = 1 << (log2_rows % 13);
    let blocks = BlockWriter::new(encoding, codec, 3, block_rows, 0)
        .and_then(|writer| {
            let nulls = Nulls { validity: None, null_code: None };
            writer.encode_texts(&lengths, texts.concat().as_bytes(), nulls)
        })
        .expect("any texts can be encoded");
    let (rows, element) = (texts.len(), Element::Utf8);
    let index = BlockIndex::new(&blocks.index).expect("the index is whole");
    block_index::validate(index, blocks.stored.len() as u64, rows, block_rows, element)
        .expect("the index is valid");
    let column =
        Column { stored: &blocks.stored, index, element, rows, block_rows, validity: None, null_code: None };
    let (mut ends, mut data) = (Vec::new(), Vec::new());
    Reader::new(column)
        .and_then(|mut reader| reader.texts(0, rows, &mut ends, &mut data))
        .expect("what was written is read");
    assert!(data == texts.concat().as_bytes());
    let mut end = 0;
    for (length, found) in lengths.iter().zip(&ends) {
        end += i64::from(*length);
        assert!(end == *found);
    }
    assert!(ends.len() == rows);
});

/// Bytes as a number, the fewer the smaller.
fn number_of(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number: i64, byte| number << 8 | i64::from(*byte))
}
