//! Speed of bit-packed blocks on one thread: `cargo bench`, or `cargo bench -- FOLDER` for real columns.
//!
//! Without a folder: from cache into registers, one line a width; MB/s of decoded 8-byte registers, best of 200,
//! 16 groups of 1,024 values. With a folder: each of its `.npy` files of one dimension is a column, in blocks of
//! 128 KiB; size in % of plain, MB/s of plain bytes to encode it with checksums and zone maps, and to decode it
//! block by block into one buffer, each block's best of three, beside lz4 level 1.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use colonnade_kernels::bitpack::{GroupReader, Layout, Span, encode};
use colonnade_kernels::block::{BlockWriter, Blocks};
use colonnade_kernels::block_index::BlockIndex;
use colonnade_kernels::codec::Codec;
use colonnade_kernels::column::{Column, Element, VECTOR_ROWS};
use colonnade_kernels::encoding::Encoding;
use colonnade_kernels::error::{KernelError, Result};
use colonnade_kernels::isa;
use colonnade_kernels::reader::Reader;
use colonnade_kernels::zone_map::Nulls;

const ROWS: usize = 16 * VECTOR_ROWS;

const BLOCK_BYTES: usize = 128 * 1024;

fn main() -> Result<()> {
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(folder) => columns(Path::new(&folder)),
        None => widths(),
    }
}

fn widths() -> Result<()> {
    for name in ["v3", "baseline"] {
        if isa::choose(name).is_err() {
            println!("this machine has no {name}");
            continue;
        }
        println!("{name}: MB/s");
        println!("width    frame    delta  decimal    int32");
        for width in [0, 1, 4, 8, 12, 16, 20, 24, 31, 33, 40, 48, 56] {
            println!("{}", line(width)?);
        }
    }
    Ok(())
}

/// Speeds at one width; a dash where the values are stored in another way.
fn line(width: u32) -> Result<String> {
    let values = numbers(width);
    let rising: Vec<i64> = values
        .iter()
        .scan(0_i64, |sum, value| {
            *sum = sum.wrapping_add(*value);
            Some(*sum)
        })
        .collect();
    let bytes = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let prices = values.iter().flat_map(|value| (*value as f64 / 100.0).to_le_bytes()).collect::<Vec<u8>>();
    let narrow = values.iter().flat_map(|value| (*value as i32).to_le_bytes()).collect::<Vec<u8>>();
    let speeds = [
        speed(&bytes(&values), Element::I64)?,
        speed(&bytes(&rising), Element::I64)?,
        speed(&prices, Element::F64)?,
        speed(&narrow, Element::I32)?,
    ];
    let cells = speeds.map(|speed| speed.map_or_else(|| "-".to_owned(), |speed| format!("{speed:.0}")));
    Ok(cells.iter().fold(format!("{width:5}"), |line, cell| format!("{line}{cell:>9}")))
}

/// Numbers below 2^width from a linear congruence.
fn numbers(width: u32) -> Vec<i64> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.checked_shr(64 - width).unwrap_or(0) as i64
    };
    (0..ROWS).map(|_| next()).collect()
}

fn speed(values: &[u8], element: Element) -> Result<Option<f64>> {
    let Some(block) = encode(values, element)? else { return Ok(None) };
    let layout = Layout::parse(&block, element, ROWS)?;
    let mut reader = GroupReader::default();
    let (mut integers, mut floats) = (vec![0; VECTOR_ROWS], vec![0.0; VECTOR_ROWS]);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start_time = Instant::now();
        for start in (0..ROWS).step_by(VECTOR_ROWS) {
            let span = Span { block: 0, start };
            if element == Element::F64 {
                reader.floats(&layout, &block, element, span, &mut floats)?;
            } else {
                reader.integers(&layout, &block, element, span, &mut integers)?;
            }
        }
        black_box((&integers, &floats));
        best = best.min(start_time.elapsed().as_secs_f64());
    }
    Ok(Some(ROWS as f64 * 8.0 / best / 1e6))
}

/// What one column takes, in bytes and seconds.
#[derive(Clone, Copy, Default)]
struct Cost {
    plain: f64,
    stored: f64,
    encode: f64,
    decode: f64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.plain += other.plain;
        self.stored += other.stored;
        self.encode += other.encode;
        self.decode += other.decode;
    }

    fn cells(self) -> String {
        let speed = |seconds: f64| self.plain / seconds / 1e6;
        format!(
            "{:8.2}{:8.0}{:8.0}",
            100.0 * self.stored / self.plain,
            speed(self.encode),
            speed(self.decode)
        )
    }
}

/// Print a line a column and one for all.
fn columns(folder: &Path) -> Result<()> {
    let failure = |failure: std::io::Error| KernelError::InvalidArgument(format!("{folder:?}: {failure}"));
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map_err(failure)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "npy"))
        .collect();
    paths.sort();
    let (mut all_packed, mut all_lz4) = (Cost::default(), Cost::default());
    println!("{:48}{:>24}{:>24}", "", "bitpack", "lz4:1");
    println!("{:48}{1:>8}{2:>8}{3:>8}{1:>8}{2:>8}{3:>8}", "column", "%", "encode", "decode");
    for path in paths {
        let file = std::fs::read(&path).map_err(failure)?;
        let Some((element, values)) = array(&file) else { continue };
        let packed = cost(values, element, Encoding::Bitpack, Codec::None)?;
        let lz4 = cost(values, element, Encoding::Plain, Codec::Lz4)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("{name:48}{}{}", packed.cells(), lz4.cells());
        all_packed.add(packed);
        all_lz4.add(lz4);
    }
    println!("{:48}{}{}", "all", all_packed.cells(), all_lz4.cells());
    Ok(())
}

/// The element and the values of a `.npy` file of version 1.
fn array(file: &[u8]) -> Option<(Element, &[u8])> {
    let length = u16::from_le_bytes(*file.get(8..)?.first_chunk::<2>()?);
    let (header, values) = file.get(10..)?.split_at_checked(usize::from(length))?;
    let header = String::from_utf8_lossy(header);
    let types = [
        ("u1", Element::U8),
        ("b1", Element::U8),
        ("i1", Element::I8),
        ("u2", Element::U16),
        ("i2", Element::I16),
        ("u4", Element::U32),
        ("i4", Element::I32),
        ("u8", Element::U64),
        ("i8", Element::I64),
        ("f4", Element::F32),
        ("f8", Element::F64),
    ];
    let (_, element) = types.into_iter().find(|(name, _)| header.contains(&format!("{name}'")))?;
    Some((element, values))
}

/// Time each block by itself and take its best of three, which leaves out what else the machine did.
fn cost(values: &[u8], element: Element, encoding: Encoding, codec: Codec) -> Result<Cost> {
    let block_rows = BLOCK_BYTES / element.width();
    let mut cost = Cost { plain: values.len() as f64, ..Cost::default() };
    let mut buffer = vec![0; BLOCK_BYTES];
    for values in values.chunks(BLOCK_BYTES) {
        let (mut encode, mut decode) = (f64::INFINITY, f64::INFINITY);
        let mut blocks = Blocks::default();
        for _ in 0..3 {
            let start_time = Instant::now();
            let writer = BlockWriter::new(encoding, codec, 1, block_rows, 0)?;
            blocks = writer.encode_values(values, element, Nulls { validity: None, null_code: None })?;
            encode = encode.min(start_time.elapsed().as_secs_f64());
        }
        let column = Column {
            stored: &blocks.stored,
            index: BlockIndex::new(&blocks.index)?,
            element,
            rows: values.len() / element.width(),
            block_rows,
            validity: None,
            null_code: None,
        };
        let out = buffer.get_mut(..values.len()).unwrap_or_default();
        for _ in 0..3 {
            let mut reader = Reader::new(column)?;
            let start_time = Instant::now();
            reader.values(0, black_box(&mut *out))?;
            decode = decode.min(start_time.elapsed().as_secs_f64());
        }
        if out != values {
            return Err(KernelError::Corrupt("decoded values differ from the encoded ones".to_owned()));
        }
        cost.add(Cost {
            plain: 0.0,
            stored: (blocks.stored.len() + blocks.index.len()) as f64,
            encode,
            decode,
        });
    }
    Ok(cost)
}
