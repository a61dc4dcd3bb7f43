//! Any bytes as a stored block, with any index entry: values or an error, with either set of instructions.

#![no_main]

use colonnade_kernels::block::{take_rows, take_texts};
use colonnade_kernels::block_index::{BlockIndex, ENTRY_BYTES};
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::isa;
use colonnade_kernels::reader::Reader;
use libfuzzer_sys::fuzz_target;

const ELEMENTS: u8 = 11;

fuzz_target!(|input: (u8, u16, [u8; ENTRY_BYTES], &[u8])| {
    let (element, rows, mut entry, stored) = input;
    let Ok(element) = Element::from_id(element % ELEMENTS) else { return };
    let rows = usize::from(rows % 5_000) + 1;
    // Offset, length and rows fit, so that most inputs get as far as the block itself.
    entry[..8].fill(0);
    entry[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    entry[12..16].copy_from_slice(&(rows as u32).to_le_bytes());
    entry[24] = Encoding::ALL[usize::from(entry[24]) % Encoding::ALL.len()] as u8;
    entry[25] %= Codec::ALL.len() as u8;
    if entry[25] == Codec::None as u8 {
        entry[28..32].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    }
    let Ok(index) = BlockIndex::new(&entry) else { return };
    let column = Column { stored, index, element, rows, block_rows: 8_192, validity: None, null_code: None };
    let fast = decode(column, "auto");
    let slow = decode(column, "baseline");
    // Numbers that no encoder writes may differ in their last bit between the two ways of dividing.
    if !matches!(element, Element::F32 | Element::F64) {
        assert!(fast == slow);
    }
    if let Some(values) = fast {
        check_points(column, &values);
    }
});

fn decode(column: Column<'_>, instructions: &str) -> Option<Vec<u8>> {
    isa::choose(instructions).ok()?;
    let mut reader = Reader::new(column).ok()?;
    if column.element.width() == 0 {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        reader.texts(0, column.rows, &mut ends, &mut data).ok()?;
        assert!(ends.len() == column.rows);
        return Some(data);
    }
    let mut values = vec![0; column.rows * column.element.width()];
    reader.values(0, &mut values).ok()?;
    Some(values)
}

/// The last row alone is the last of all.
fn check_points(column: Column<'_>, values: &[u8]) {
    let last = [column.rows as i64 - 1];
    let width = column.element.width();
    if width == 0 {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        take_texts(column, &last, &mut ends, &mut data).expect("all texts are fine");
        assert!(values.ends_with(&data));
    } else if !matches!(column.element, Element::F32 | Element::F64) {
        let mut value = vec![0; width];
        take_rows(column, &last, &mut value).expect("all values are fine");
        assert!(values.ends_with(&value));
    }
}
