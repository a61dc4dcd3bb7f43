//! Encoded blocks with any changed bytes: values or an error, with either set of instructions.

#![no_main]

use colonnade_kernels::block::BlockWriter;
use colonnade_kernels::block_index::BlockIndex;
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::isa;
use colonnade_kernels::reader::Reader;
use colonnade_kernels::zone_map::Nulls;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u16, u16, i64, i64, Vec<(u16, u8)>)| {
    let (element, encoding, rows, first_row, step, noise, changes) = input;
    let Ok(element) = Element::from_id(element % 11) else { return };
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    let rows = usize::from(rows % 9_000) + 1;
    let writer = BlockWriter::new(encoding, Codec::None, 1, 1 << 14, 0).expect("the arguments are fine");
    let nulls = Nulls { validity: None, null_code: None };
    let numbers = (0..rows as i64).map(|row| {
        let odd = if row % 97 == 5 { noise } else { row % 3 };
        (row / 4).wrapping_mul(step).wrapping_add(odd)
    });
    let blocks = match element {
        Element::Utf8 => {
            let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
            let lengths: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
            writer.encode_texts(&lengths, texts.concat().as_bytes(), nulls)
        }
        Element::F64 => {
            let values: Vec<u8> = numbers.flat_map(|number| (number as f64 / 100.0).to_le_bytes()).collect();
            writer.encode_values(&values, element, nulls)
        }
        Element::F32 => {
            let values: Vec<u8> = numbers.flat_map(|number| (number as f32 / 100.0).to_le_bytes()).collect();
            writer.encode_values(&values, element, nulls)
        }
        _ => {
            let width = element.width();
            let values: Vec<u8> =
                numbers.flat_map(|number| number.to_le_bytes().into_iter().take(width)).collect();
            writer.encode_values(&values, element, nulls)
        }
    };
    let mut blocks = blocks.expect("any values can be encoded");
    for (place, byte) in changes {
        let length = blocks.stored.len();
        blocks.stored[usize::from(place) % length] = byte;
    }
    let index = BlockIndex::new(&blocks.index).expect("the index is whole");
    let block_rows = 1 << 14;
    let column =
        Column { stored: &blocks.stored, index, element, rows, block_rows, validity: None, null_code: None };
    let first_row = usize::from(first_row) % rows;
    let fast = decode(column, first_row, "auto");
    let slow = decode(column, first_row, "baseline");
    // Numbers that no encoder writes may differ in their last bit between the two ways of dividing.
    assert!(fast == slow || matches!(element, Element::F32 | Element::F64));
});

fn decode(column: Column<'_>, first_row: usize, instructions: &str) -> Option<Vec<u8>> {
    isa::choose(instructions).ok()?;
    let mut reader = Reader::new(column).ok()?;
    if column.element.width() == 0 {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        reader.texts(first_row, column.rows, &mut ends, &mut data).ok()?;
        return Some(data);
    }
    let mut values = vec![0; (column.rows - first_row) * column.element.width()];
    reader.values(first_row, &mut values).ok()?;
    Some(values)
}
