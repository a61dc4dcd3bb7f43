//! The encoding `runs`: each run of equal values once, with the row where it ends.
//!
//! ```text
//! 0        count   u32         runs
//! 4        ends    u32[count]  row after the last of each run: ascending, the last is the rows of the block
//! 4+4count values  count values, little-endian
//! ```
//!
//! Values are equal where their bytes are.  A block whose runs would take as much as its values is stored otherwise.

use crate::bytes;
use crate::column::Element;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};

const HEADER_BYTES: usize = 4;
const END_BYTES: usize = 4;

/// Give the bytes that these values take as runs.
pub fn encoded_bytes(values: &[u8], element: Element) -> usize {
    let count = match element.width() {
        1 => dispatch(Count::<1> { values }),
        2 => dispatch(Count::<2> { values }),
        4 => dispatch(Count::<4> { values }),
        _ => dispatch(Count::<8> { values }),
    };
    HEADER_BYTES + count * (END_BYTES + element.width())
}

/// Encode plain values; `None` where the block would not be smaller than they are, and for text.
pub fn encode(values: &[u8], element: Element) -> Option<Vec<u8>> {
    let width = element.width();
    if width == 0 || encoded_bytes(values, element) >= values.len() {
        return None;
    }
    let rows = (values.len() / width) as u32;
    let mut starts = vec![0];
    match width {
        1 => dispatch(FindStarts::<1> { values, starts: &mut starts }),
        2 => dispatch(FindStarts::<2> { values, starts: &mut starts }),
        4 => dispatch(FindStarts::<4> { values, starts: &mut starts }),
        8 => dispatch(FindStarts::<8> { values, starts: &mut starts }),
        _ => dispatch(FindStarts::<16> { values, starts: &mut starts }),
    }
    let mut block = (starts.len() as u32).to_le_bytes().to_vec();
    for end in starts.iter().skip(1).chain([&rows]) {
        block.extend_from_slice(&end.to_le_bytes());
    }
    for start in starts {
        let at = start as usize * width;
        block.extend_from_slice(values.get(at..at + width).unwrap_or_default());
    }
    Some(block)
}

/// Values that are compared with the run before them at once.
const STRETCH: usize = 64;

/// Finds the rows where a run starts, the first row left out.
struct FindStarts<'v, const N: usize> {
    values: &'v [u8],
    starts: &'v mut Vec<u32>,
}

impl<const N: usize> Kernel for FindStarts<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let values = self.values.as_chunks::<N>().0;
        let Some(mut last) = values.first().copied() else { return };
        for (number, stretch) in values.chunks(STRETCH).enumerate() {
            if stretch.iter().fold(true, |same, value| same & (*value == last)) {
                continue;
            }
            for (place, value) in stretch.iter().enumerate() {
                if *value != last {
                    self.starts.push((number * STRETCH + place) as u32);
                    last = *value;
                }
            }
        }
    }
}

/// Fill `out` with the values of a block.
pub fn decode(block: &[u8], element: Element, out: &mut [u8]) -> Result<()> {
    match element.width() {
        1 => fill::<1>(block, out),
        2 => fill::<2>(block, out),
        4 => fill::<4>(block, out),
        8 => fill::<8>(block, out),
        _ => Err(KernelError::Corrupt("text has no runs".to_owned())),
    }
}

/// Fill `out` with the value of one row, without the others.
pub fn decode_one(block: &[u8], element: Element, row: usize, out: &mut [u8]) -> Result<()> {
    let width = element.width();
    let count = bytes::u32_at(block, 0, "block of runs")? as usize;
    let ends = bytes::slice(block, HEADER_BYTES, count.saturating_mul(END_BYTES), "ends of runs")?;
    let run = ends.as_chunks::<END_BYTES>().0.partition_point(|end| u32::from_le_bytes(*end) as usize <= row);
    let start = HEADER_BYTES + ends.len() + run * width;
    if run >= count || out.len() != width {
        return Err(KernelError::Corrupt(format!("row {row} lies in none of {count} runs")));
    }
    out.copy_from_slice(bytes::slice(block, start, width, "values of runs")?);
    Ok(())
}

fn fill<const N: usize>(block: &[u8], out: &mut [u8]) -> Result<()> {
    let what = "block of runs";
    let count = bytes::u32_at(block, 0, what)? as usize;
    let rest = block.get(HEADER_BYTES..).unwrap_or_default();
    if rest.len() != count.saturating_mul(END_BYTES + N) {
        let reason = format!("block of {count} runs has {} bytes", block.len());
        return Err(KernelError::Truncated(reason));
    }
    let (ends, values) = rest.split_at_checked(count * END_BYTES).unwrap_or_default();
    let mut out = out.as_chunks_mut::<N>().0;
    let mut start = 0;
    for (end, value) in ends.as_chunks::<END_BYTES>().0.iter().zip(values.as_chunks::<N>().0) {
        let end = u32::from_le_bytes(*end) as usize;
        let run = out.split_off_mut(..end.saturating_sub(start));
        match run {
            Some(run) if end > start => run.fill(*value),
            _ => return Err(KernelError::Corrupt(format!("run ends at row {end}, after row {start}"))),
        }
        start = end;
    }
    if out.is_empty() {
        Ok(())
    } else {
        Err(KernelError::Corrupt(format!("runs end at row {start}, {} rows are left", out.len())))
    }
}

/// Counts runs: values that differ from the one before, and the first.
struct Count<'v, const N: usize> {
    values: &'v [u8],
}

impl<const N: usize> Kernel for Count<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        let values = self.values.as_chunks::<N>().0;
        let changes = values.iter().zip(values.get(1..).unwrap_or_default());
        values.len().min(1) + changes.filter(|(before, value)| before != value).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn encoded() -> Vec<u8> {
        encode(&bytes_of(&[7, 7, 7, 7, -1, -1, -1, 9]), Element::I32).unwrap_or_default()
    }

    #[test]
    fn values_come_back() {
        let mut out = [0; 32];
        assert_eq!(decode(&encoded(), Element::I32, &mut out), Ok(()));
        assert_eq!(out.to_vec(), bytes_of(&[7, 7, 7, 7, -1, -1, -1, 9]));
    }

    #[test]
    fn each_value_comes_back_alone() {
        let mut out = [0; 32];
        for (row, value) in out.chunks_mut(4).enumerate() {
            assert_eq!(decode_one(&encoded(), Element::I32, row, value), Ok(()));
        }
        assert_eq!(out.to_vec(), bytes_of(&[7, 7, 7, 7, -1, -1, -1, 9]));
        assert!(decode_one(&encoded(), Element::I32, 8, &mut [0; 4]).is_err());
    }

    #[test]
    fn layout_is_the_documented_one() {
        let expected = [[3_u32, 4, 7, 8].map(u32::to_le_bytes).concat(), bytes_of(&[7, -1, 9])].concat();
        assert_eq!(encoded(), expected);
    }

    #[test]
    fn values_without_runs_are_not_encoded() {
        assert_eq!(encode(&bytes_of(&[1, 2, 3, 4]), Element::I32), None);
        assert_eq!(encode(&[], Element::I32), None);
    }

    #[test]
    fn zeros_of_both_signs_are_two_runs() {
        let values: Vec<u8> =
            [0.0_f64, 0.0, 0.0, -0.0, -0.0, -0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let block = encode(&values, Element::F64).unwrap_or_default();
        let mut out = vec![0; values.len()];
        assert_eq!(decode(&block, Element::F64, &mut out), Ok(()));
        assert_eq!(out, values);
    }

    #[test]
    fn block_cut_at_every_byte_is_an_error() {
        let block = encoded();
        for cut in 0..block.len() {
            let result = decode(block.get(..cut).unwrap_or_default(), Element::I32, &mut [0; 32]);
            assert!(result.is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn ends_that_do_not_ascend_to_the_rows_are_errors() {
        for ends in [[4, 4, 8], [4, 3, 8], [4, 7, 7], [4, 7, 9], [0, 7, 8], [u32::MAX, 7, 8]] {
            let head = [[3].as_slice(), &ends].concat();
            let block =
                [head.into_iter().flat_map(u32::to_le_bytes).collect(), bytes_of(&[7, -1, 9])].concat();
            assert!(decode(&block, Element::I32, &mut [0; 32]).is_err(), "{ends:?}");
        }
    }
}
