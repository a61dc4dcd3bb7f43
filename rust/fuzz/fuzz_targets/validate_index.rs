//! An index with any changed bytes: where it is taken, every block lies in the stretch, and reading it panics nowhere.

#![no_main]

use colonnade_kernels::block::{BlockWriter, Blocks};
use colonnade_kernels::block_index::{BlockIndex, validate};
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::reader::Reader;
use colonnade_kernels::zone_map::Nulls;
use libfuzzer_sys::fuzz_target;

const ROWS: usize = 300;
const BLOCK_ROWS: usize = 128;

fuzz_target!(|input: (u8, u8, bool, Vec<(u8, u8)>, u8, u8)| {
    let (encoding, codec, is_text, changes, log2_rows, fewer_rows) = input;
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    let codec = Codec::ALL[usize::from(codec) % Codec::ALL.len()];
    let element = if is_text { Element::Utf8 } else { Element::I32 };
    let Blocks { stored, mut index } = blocks(encoding, codec, is_text);
    for (place, byte) in changes {
        let length = index.len();
        index[usize::from(place) % length] = byte;
    }
    let index = BlockIndex::new(&index).expect("the index is whole");
    let rows = ROWS - usize::from(fewer_rows % 8 / 7);
    let block_rows = if log2_rows < 240 { BLOCK_ROWS } else { 1 << (log2_rows - 240) };
    if validate(index, stored.len() as u64, rows, block_rows, element).is_err() {
        return;
    }
    for block in 0..index.len() {
        let entry = index.entry(block).expect("a valid index has its blocks");
        entry.stored(&stored).expect("a valid block lies in the stretch");
    }
    let column =
        Column { stored: &stored, index, element, rows, block_rows, validity: None, null_code: None };
    let mut reader = Reader::new(column).expect("a valid index fits the column");
    let _ = reader.values(0, &mut vec![0; rows * element.width()]);
    let _ = reader.texts(0, rows, &mut Vec::new(), &mut Vec::new());
});

fn blocks(encoding: Encoding, codec: Codec, is_text: bool) -> Blocks {
    let writer = BlockWriter::new(encoding, codec, 1, BLOCK_ROWS, 0).expect("the arguments are fine");
    let nulls = Nulls { validity: None, null_code: None };
    let sizes = (0..ROWS as i32).map(|row| row * row % 11 * 100);
    if is_text {
        let texts: Vec<String> = sizes.map(|size| size.to_string()).collect();
        let lengths: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
        writer.encode_texts(&lengths, texts.concat().as_bytes(), nulls).expect("any texts can be encoded")
    } else {
        let values: Vec<u8> = sizes.flat_map(i32::to_le_bytes).collect();
        writer.encode_values(&values, Element::I32, nulls).expect("any values can be encoded")
    }
}
