//! Any values under any compression come back bit for bit, with either set of instructions.

#![no_main]

use colonnade_kernels::block::BlockWriter;
use colonnade_kernels::block_index::{self, BlockIndex};
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::isa;
use colonnade_kernels::reader::Reader;
use colonnade_kernels::zone_map::Nulls;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u8, u8, bool, &[u8])| {
    let (element, encoding, codec, log2_rows, repeats, bytes) = input;
    let Ok(element) = Element::from_id(element % 10) else { return };
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    let codec = if encoding == Encoding::Pco {
        Codec::None
    } else {
        Codec::ALL[usize::from(codec) % Codec::ALL.len()]
    };
    // Repeated values have runs, dictionaries and more than one group.
    let bytes = if repeats { bytes.repeat(40) } else { bytes.to_vec() };
    let rows = bytes.len() / element.width();
    let values = &bytes[..rows * element.width()];
    let block_rows = 1 << (log2_rows % 13);
    let nulls = Nulls { validity: None, null_code: None };
    let blocks = BlockWriter::new(encoding, codec, 3, block_rows, 0)
        .and_then(|writer| writer.encode_values(values, element, nulls))
        .expect("any values can be encoded");
    let index = BlockIndex::new(&blocks.index).expect("the index is whole");
    block_index::validate(index, blocks.stored.len() as u64, rows, block_rows, element)
        .expect("the index is valid");
    assert!(blocks.stored.len() <= values.len());
    let column =
        Column { stored: &blocks.stored, index, element, rows, block_rows, validity: None, null_code: None };
    for instructions in ["auto", "baseline"] {
        isa::choose(instructions).expect("both are there");
        let mut out = vec![0; values.len()];
        Reader::new(column)
            .and_then(|mut reader| reader.values(0, &mut out))
            .expect("what was written is read");
        assert!(out == values);
    }
});
