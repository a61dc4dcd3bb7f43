//! Any bytes as a stored block, with any index entry: values or an error, with either set of instructions.

#![no_main]

use colonnade_kernels::block_index::{BlockIndex, ENTRY_BYTES};
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::isa;
use colonnade_kernels::reader::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, [u8; ENTRY_BYTES], &[u8])| {
    let (element, rows, mut entry, stored) = input;
    let Ok(element) = Element::from_id(element % 11) else { return };
    let rows = usize::from(rows % 5_000) + 1;
    // Offset, length and rows fit, so that most inputs get as far as the block itself.
    entry[..8].fill(0);
    entry[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    entry[12..16].copy_from_slice(&(rows as u32).to_le_bytes());
    entry[24] %= 2;
    entry[25] %= 3;
    let Ok(index) = BlockIndex::new(&entry) else { return };
    let column = Column { stored, index, element, rows, block_rows: 8_192, validity: None, null_code: None };
    let fast = decode(column, "auto");
    let slow = decode(column, "baseline");
    // Numbers that no encoder writes may differ in their last bit between the two ways of dividing.
    if !matches!(element, Element::F32 | Element::F64) {
        assert!(fast == slow);
    }
});

fn decode(column: Column<'_>, instructions: &str) -> Option<Vec<u8>> {
    isa::choose(instructions).ok()?;
    let mut reader = Reader::new(column).ok()?;
    if column.element == Element::Utf8 {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        reader.texts(0, column.rows, &mut ends, &mut data).ok()?;
        return Some(data);
    }
    let mut values = vec![0; column.rows * column.element.width()];
    reader.values(0, &mut values).ok()?;
    Some(values)
}
