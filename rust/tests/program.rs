//! Programs, pieces and states with changed words give a result or an error: checked with overflow checks on.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use colonnade_kernels::block::{BlockWriter, Blocks};
use colonnade_kernels::block_index::BlockIndex;
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::program::layout::Program;
use colonnade_kernels::program::run::{PIECE_WORDS, run};
use colonnade_kernels::zone_map::Nulls;

const ROWS: usize = 3_000;
const EDGES: [i64; 12] = [0, 1, -1, 2, 7, 59, 1 << 20, 1 << 40, 1 << 62, i64::MAX, i64::MIN, i64::MIN + 1];

/// A small generator of the same numbers on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn change(&mut self, words: &mut [i64], times: usize) {
        for _ in 0..times {
            let (place, value) = (self.next(words.len()), EDGES.get(self.next(EDGES.len())));
            if let (Some(word), Some(value)) = (words.get_mut(place), value) {
                *word = *value;
            }
        }
    }
}

/// Keys: symbol, bucket of the time, size; a condition; every aggregate over time, and over the size as a float.
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

fn column_of(blocks: &Blocks, element: Element) -> Column<'_> {
    Column {
        stored: &blocks.stored,
        index: BlockIndex::new(&blocks.index).unwrap(),
        element,
        rows: ROWS,
        block_rows: 1_024,
        validity: None,
        null_code: Some(3),
    }
}

#[test]
fn changed_words_give_a_result_or_an_error() {
    let times: Vec<u8> = (0..ROWS as i64).flat_map(|row| (row * 3 - 4_000).to_le_bytes()).collect();
    let sizes: Vec<u8> = (0..ROWS as i32).flat_map(|row| (row * 7 % 5 - 1).to_le_bytes()).collect();
    let encode = |element, values: &[u8]| {
        let writer = BlockWriter::new(Encoding::Bitpack, Codec::None, 0, 1_024, 0).unwrap();
        writer.encode_values(values, element, Nulls { validity: None, null_code: None }).unwrap()
    };
    let (times, sizes) = (encode(Element::I64, &times), encode(Element::I32, &sizes));
    let parts = [vec![column_of(&times, Element::I64), column_of(&sizes, Element::I32)]];
    let mut numbers = Numbers(1);
    let mut finished = 0;
    for round in 0..4_000 {
        let mut words = words(round % 2 == 0);
        let mut pieces = [0, 5, ROWS as i64, 1, 19_000, (1 << 20) - 777, 0, 0, 40, 2, 19_000, 0];
        if round >= 2 {
            let times = numbers.next(3);
            numbers.change(&mut words, times);
            let times = numbers.next(2);
            numbers.change(&mut pieces, times);
        }
        let Ok(program) = Program::parse(&words) else { continue };
        if program.state_words() > 1 << 20 {
            continue;
        }
        let mut state = vec![0; program.state_words()];
        let capacity = 1 + numbers.next(9);
        let mut output = vec![0; program.output_words * capacity];
        for call in 0..40 {
            if round >= 2 && call == 3 {
                numbers.change(state.get_mut(..14).unwrap(), 1);
                numbers.change(&mut state, 2);
            }
            let pieces: &[[i64; PIECE_WORDS]] = pieces.as_chunks().0;
            match run(&program, &parts, pieces, &mut state, &mut output, capacity, 1_000) {
                Ok(progress) if progress.done => {
                    finished += 1;
                    break;
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
    assert!(finished > 100, "only {finished} programs ran to their end");
}
