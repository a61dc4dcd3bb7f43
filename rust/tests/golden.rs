//! Blocks written by every format version are read, without Python: `tests/golden` holds them.

use std::fs;
use std::path::{Path, PathBuf};

use colonnade_kernels::block;
use colonnade_kernels::block_index::{self, BlockIndex};
use colonnade_kernels::column::{Column, Element};
use colonnade_kernels::reader::Reader;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// One folder of `tests/golden`.
struct Case {
    stored: Vec<u8>,
    index: Vec<u8>,
    values: Vec<u8>,
    element: Element,
    rows: usize,
    block_rows: usize,
}

impl Case {
    fn open(folder: &Path) -> Outcome<Self> {
        let facts = fs::read_to_string(folder.join("facts"))?;
        let fact = |name: &str| -> Outcome<usize> {
            let line = facts.lines().find_map(|line| line.strip_prefix(name)).ok_or("a fact is missing")?;
            Ok(line.trim().parse()?)
        };
        Ok(Self {
            stored: fs::read(folder.join("stored"))?,
            index: fs::read(folder.join("index"))?,
            values: fs::read(folder.join("values"))?,
            element: Element::from_id(u8::try_from(fact("element ")?)?)?,
            rows: fact("rows ")?,
            block_rows: fact("block_rows ")?,
        })
    }

    fn column(&self) -> Outcome<Column<'_>> {
        Ok(Column {
            stored: &self.stored,
            index: BlockIndex::new(&self.index)?,
            element: self.element,
            rows: self.rows,
            block_rows: self.block_rows,
            validity: None,
            null_code: None,
        })
    }

    fn check(&self) -> Outcome<()> {
        let column = self.column()?;
        block_index::validate(
            column.index,
            self.stored.len() as u64,
            self.rows,
            self.block_rows,
            self.element,
        )?;
        block::verify(&column, 0, column.index.len())?;
        let mut reader = Reader::new(column)?;
        let values = if self.element == Element::Utf8 {
            lines(&mut reader, self.rows)?
        } else {
            let mut values = vec![0; self.values.len()];
            reader.values(0, &mut values)?;
            values
        };
        if values == self.values { Ok(()) } else { Err("other values came back".into()) }
    }
}

/// Every text and a line feed.
fn lines(reader: &mut Reader<'_>, rows: usize) -> Outcome<Vec<u8>> {
    let (mut ends, mut data) = (Vec::new(), Vec::new());
    reader.texts(0, rows, &mut ends, &mut data)?;
    let mut out = Vec::new();
    let mut start = 0;
    for end in ends {
        let end = usize::try_from(end)?;
        out.extend_from_slice(data.get(start..end).ok_or("a text lies outside the data")?);
        out.push(b'\n');
        start = end;
    }
    Ok(out)
}

fn cases() -> Outcome<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.join("facts").exists() {
            found.push(path);
        }
    }
    Ok(found)
}

#[test]
fn blocks_of_every_version_give_the_values_they_were_made_of() -> Outcome<()> {
    let cases = cases()?;
    assert!(cases.len() >= 13, "golden blocks are missing: found {}", cases.len());
    for folder in cases {
        Case::open(&folder)?.check().map_err(|failure| format!("{}: {failure}", folder.display()))?;
    }
    Ok(())
}

#[test]
fn a_changed_byte_of_any_golden_block_is_found() -> Outcome<()> {
    for folder in cases()? {
        let mut case = Case::open(&folder)?;
        for place in (0..case.stored.len()).step_by(97) {
            if let Some(byte) = case.stored.get_mut(place) {
                *byte ^= 0x40;
            }
            assert!(block::verify(&case.column()?, 0, case.column()?.index.len()).is_err());
            if let Some(byte) = case.stored.get_mut(place) {
                *byte ^= 0x40;
            }
        }
    }
    Ok(())
}
