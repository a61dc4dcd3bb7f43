//! Programs with any changed words: refused, or run to a result or an error.

#![no_main]

use colonnade_kernels::block::{BlockWriter, Blocks};
use colonnade_kernels::block_index::BlockIndex;
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::program::layout::Program;
use colonnade_kernels::program::run::run;
use colonnade_kernels::zone_map::Nulls;
use libfuzzer_sys::fuzz_target;

const ROWS: i64 = 300;

fuzz_target!(|input: (bool, Vec<(u8, i64)>, [i64; 12], Vec<i64>)| {
    let (hash, changes, pieces, appended) = input;
    let mut words = words(hash);
    words.extend(appended);
    let count = words.len();
    for (place, word) in changes {
        words[usize::from(place) % count] = word;
    }
    let Ok(program) = Program::parse(&words) else { return };
    if program.state_words() > 1 << 16 || program.output_words > 1 << 10 {
        return;
    }
    let (times, sizes) = (blocks(|row| row * 3 - 400), blocks(|row| row * 7 % 5 - 1));
    let parts = [vec![column(&times), column(&sizes)]];
    let pieces = if pieces[0] == 0 { [0, 5, ROWS, 1, 19_000, 0, 0, 0, 40, 2, 19_000, 0] } else { pieces };
    let mut state = vec![0; program.state_words()];
    let mut output = vec![0; program.output_words * 7];
    for _ in 0..60 {
        match run(&program, &parts, pieces.as_chunks().0, &mut state, &mut output, 7, 100) {
            Ok(progress) if !progress.done => {}
            _ => return,
        }
    }
});

/// Keys: symbol, bucket of the time, size; a condition; aggregates over time and size.
fn words(hash: bool) -> Vec<i64> {
    let instructions = [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [4, 0, 0, 0],
        [59, 0, 10, 3],
        [57, 1, 0, 0],
        [6, 2, 0, 0],
        [30, 1, 5, 0],
        [13, 0, 1, 0],
        [23, 4, 4, 0],
        [50, 6, 0, 0],
    ];
    let mut aggregates = vec![[0, -1], [1, 0]];
    for kind in 2..=6 {
        aggregates.extend([[kind, 0], [kind, 8], [kind, 7]]);
    }
    let mut words = vec![1, i64::from(hash), 2, 10, 9, 3, aggregates.len() as i64, 2];
    words.extend([if hash { 64 } else { 0 }, 0, 0, 1]);
    words.extend(instructions.into_iter().flatten());
    words.extend([2, 3, 1]);
    words.extend(aggregates.into_iter().flatten());
    words.extend([4, 5]);
    words
}

fn blocks(value: impl Fn(i64) -> i64) -> Blocks {
    let values: Vec<u8> = (0..ROWS).flat_map(|row| value(row).to_le_bytes()).collect();
    BlockWriter::new(Encoding::Bitpack, Codec::None, 0, 128, 0)
        .and_then(|writer| {
            writer.encode_values(&values, Element::I64, Nulls { validity: None, null_code: None })
        })
        .expect("any values can be encoded")
}

fn column(blocks: &Blocks) -> Column<'_> {
    Column {
        stored: &blocks.stored,
        index: BlockIndex::new(&blocks.index).expect("the index is whole"),
        element: Element::I64,
        rows: ROWS as usize,
        block_rows: 128,
        validity: None,
        null_code: None,
    }
}
