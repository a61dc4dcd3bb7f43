//! Bound functions of `block`, `block_index`, `checksum` and `isa`, and the column that every kernel takes.

use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1,
    PyReadwriteArray2,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::block::{self, BlockWriter};
use crate::block_index::{self, BlockIndex};
use crate::checksum;
use crate::codec::Codec;
use crate::column::{Column, Element};
use crate::encoding::Encoding;
use crate::error::{KernelError, Result};
use crate::reader::Reader;
use crate::zone_map::Nulls;

use super::released;

/// A column as Python passes it: `kernels.ColumnInput`.
#[derive(FromPyObject)]
pub struct ColumnInput<'py> {
    stored: PyReadonlyArray1<'py, u8>,
    index: PyReadonlyArray1<'py, u8>,
    element: u8,
    rows: usize,
    block_rows: usize,
    validity: Option<PyReadonlyArray1<'py, u8>>,
    null_code: Option<u32>,
}

impl ColumnInput<'_> {
    /// Borrow the column for a kernel.
    pub fn column(&self) -> PyResult<Column<'_>> {
        let convert = |failure: KernelError| super::error::to_python(self.stored.py(), &failure);
        Ok(Column {
            stored: contiguous(&self.stored)?,
            index: BlockIndex::new(contiguous(&self.index)?).map_err(convert)?,
            element: Element::from_id(self.element).map_err(convert)?,
            rows: self.rows,
            block_rows: self.block_rows,
            validity: self.validity.as_ref().map(contiguous).transpose()?,
            null_code: self.null_code,
        })
    }
}

/// The items of an array; an error where it has gaps.
pub fn contiguous<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyTypeError::new_err("array isn't contiguous"))
}

/// The bytes of an array of rows of 16 bytes.
fn bytes_of_rows<'a>(rows: &'a PyReadonlyArray2<'_, u8>) -> PyResult<&'a [u8]> {
    if rows.as_array().ncols() != Element::Bytes16.width() {
        return Err(unknown_array());
    }
    rows.as_slice().map_err(|_| PyTypeError::new_err("array isn't contiguous"))
}

fn unknown_array() -> PyErr {
    PyTypeError::new_err("expected a one-dimensional array of integers or floats, or rows of 16 bytes")
}

/// Borrows arrays of every element type, to read or to write.
macro_rules! typed_arrays {
    ($($variant:ident $type:ty),+) => {
        /// An array to read, of the type of one element.
        pub enum Values<'py> {
            /// Rows of 16 bytes.
            Bytes16(PyReadonlyArray2<'py, u8>),
            $(#[doc = "Values of this element."] $variant(PyReadonlyArray1<'py, $type>)),+
        }

        impl<'py> Values<'py> {
            /// Borrow an array.
            pub fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(typed) = array.cast::<PyArray1<$type>>() {
                    return Ok(Self::$variant(typed.try_readonly()?));
                })+
                if let Ok(rows) = array.cast::<PyArray2<u8>>() {
                    return Ok(Self::Bytes16(rows.try_readonly()?));
                }
                Err(unknown_array())
            }

            /// The type of one element.
            pub fn element(&self) -> Element {
                match self {
                    Self::Bytes16(_) => Element::Bytes16,
                    $(Self::$variant(_) => Element::$variant),+
                }
            }

            /// The elements as bytes.
            pub fn bytes(&self) -> PyResult<&[u8]> {
                Ok(match self {
                    Self::Bytes16(rows) => bytes_of_rows(rows)?,
                    $(Self::$variant(array) => bytemuck::cast_slice(contiguous(array)?)),+
                })
            }
        }

        /// An array to fill, of the type of one element.
        pub enum ValuesOut<'py> {
            /// Rows of 16 bytes.
            Bytes16(PyReadwriteArray2<'py, u8>),
            $(#[doc = "Values of this element."] $variant(PyReadwriteArray1<'py, $type>)),+
        }

        impl<'py> ValuesOut<'py> {
            /// Borrow an array.
            pub fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(typed) = array.cast::<PyArray1<$type>>() {
                    return Ok(Self::$variant(typed.try_readwrite()?));
                })+
                if let Ok(rows) = array.cast::<PyArray2<u8>>() {
                    return Ok(Self::Bytes16(rows.try_readwrite()?));
                }
                Err(unknown_array())
            }

            /// The elements as bytes; an error where they are not of the expected type.
            pub fn bytes(&mut self, expected: Element) -> PyResult<&mut [u8]> {
                match self {
                    Self::Bytes16(rows) if expected == Element::Bytes16 => {
                        rows.as_slice_mut().map_err(|_| PyTypeError::new_err("array isn't contiguous"))
                    }
                    $(Self::$variant(array) if expected == Element::$variant => {
                        let items = array.as_slice_mut().map_err(|_| PyTypeError::new_err("array isn't contiguous"))?;
                        Ok(bytemuck::cast_slice_mut(items))
                    })+
                    _ => Err(PyTypeError::new_err(format!("expected an array for {expected:?} values"))),
                }
            }
        }
    };
}

typed_arrays!(U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64);

/// Encode values into blocks: stored bytes, and 48 bytes of index a block.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the flat border of a kernel")]
pub fn encode_blocks<'py>(
    python: Python<'py>,
    values: &Bound<'py, PyAny>,
    validity: Option<PyReadonlyArray1<'py, u8>>,
    null_code: Option<u32>,
    encoding: &str,
    codec: &str,
    level: i32,
    block_rows: usize,
    offset: u64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let values = Values::of(values)?;
    let (element, bytes) = (values.element(), values.bytes()?);
    let validity = validity.as_ref().map(contiguous).transpose()?;
    let blocks = released(python, || {
        let writer = writer(encoding, codec, level, block_rows, offset)?;
        writer.encode_values(bytes, element, Nulls { validity, null_code })
    })?;
    Ok((PyBytes::new(python, &blocks.stored), PyBytes::new(python, &blocks.index)))
}

/// Encode texts into blocks: stored bytes, and 48 bytes of index a block.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the flat border of a kernel")]
pub fn encode_string_blocks<'py>(
    python: Python<'py>,
    lengths: PyReadonlyArray1<'py, u32>,
    data: PyReadonlyArray1<'py, u8>,
    validity: Option<PyReadonlyArray1<'py, u8>>,
    encoding: &str,
    codec: &str,
    level: i32,
    block_rows: usize,
    offset: u64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let (lengths, data) = (contiguous(&lengths)?, contiguous(&data)?);
    let validity = validity.as_ref().map(contiguous).transpose()?;
    let blocks = released(python, || {
        let writer = writer(encoding, codec, level, block_rows, offset)?;
        writer.encode_texts(lengths, data, Nulls { validity, null_code: None })
    })?;
    Ok((PyBytes::new(python, &blocks.stored), PyBytes::new(python, &blocks.index)))
}

fn writer(encoding: &str, codec: &str, level: i32, block_rows: usize, offset: u64) -> Result<BlockWriter> {
    BlockWriter::new(Encoding::from_name(encoding)?, Codec::from_name(codec)?, level, block_rows, offset)
}

/// Fill `out` with the rows `start` to `stop` of a column.
#[pyfunction]
pub fn decode_rows(
    python: Python<'_>,
    column: ColumnInput<'_>,
    start: usize,
    stop: usize,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let column = column.column()?;
    let mut out = ValuesOut::of(out)?;
    let bytes = out.bytes(column.element)?;
    released(python, || {
        let expected = stop.saturating_sub(start) * column.element.width();
        if bytes.len() != expected {
            return Err(KernelError::InvalidArgument(format!(
                "got room for {} bytes, expected {expected}",
                bytes.len()
            )));
        }
        Reader::new(column)?.values(start, bytes)
    })
}

/// Give the texts of rows `start` to `stop`: offsets, one more than rows, and the bytes.
#[pyfunction]
pub fn decode_string_rows<'py>(
    python: Python<'py>,
    column: ColumnInput<'py>,
    start: usize,
    stop: usize,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyBytes>)> {
    let column = column.column()?;
    let (offsets, data) = released(python, || {
        let (mut offsets, mut data) = (vec![0], Vec::new());
        Reader::new(column)?.texts(start, stop, &mut offsets, &mut data)?;
        Ok((offsets, data))
    })?;
    Ok((PyArray1::from_vec(python, offsets), PyBytes::new(python, &data)))
}

/// Gather rows by number; a negative number leaves its place in `out` as it is.
#[pyfunction]
pub fn take_rows(
    python: Python<'_>,
    column: ColumnInput<'_>,
    rows: PyReadonlyArray1<'_, i64>,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let column = column.column()?;
    let rows = contiguous(&rows)?;
    let mut out = ValuesOut::of(out)?;
    let bytes = out.bytes(column.element)?;
    released(python, || block::take_rows(column, rows, bytes))
}

/// Gather texts by ascending row number: offsets, one more than rows, and the bytes.
#[pyfunction]
pub fn take_string_rows<'py>(
    python: Python<'py>,
    column: ColumnInput<'py>,
    rows: PyReadonlyArray1<'_, i64>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyBytes>)> {
    let column = column.column()?;
    let rows = contiguous(&rows)?;
    let (offsets, data) = released(python, || {
        let (mut offsets, mut data) = (vec![0], Vec::new());
        block::take_texts(column, rows, &mut offsets, &mut data)?;
        Ok((offsets, data))
    })?;
    Ok((PyArray1::from_vec(python, offsets), PyBytes::new(python, &data)))
}

/// Check that a block index can be, once per opened file.
#[pyfunction]
pub fn validate_index(
    python: Python<'_>,
    index: PyReadonlyArray1<'_, u8>,
    stored_bytes: u64,
    rows: usize,
    block_rows: usize,
    element: u8,
) -> PyResult<()> {
    let index = contiguous(&index)?;
    released(python, || {
        block_index::validate(
            BlockIndex::new(index)?,
            stored_bytes,
            rows,
            block_rows,
            Element::from_id(element)?,
        )
    })
}

/// Compare the stored bytes of blocks `first_block` to `last_block` (not included) with their checksums.
#[pyfunction]
pub fn verify_blocks(
    python: Python<'_>,
    column: ColumnInput<'_>,
    first_block: usize,
    last_block: usize,
) -> PyResult<()> {
    let column = column.column()?;
    released(python, || block::verify(&column, first_block, last_block))
}

/// Give the CRC-32C of bytes: of the header, footer and sections of a column file.
#[pyfunction]
pub fn crc32c(python: Python<'_>, content: PyReadonlyArray1<'_, u8>) -> PyResult<u32> {
    let content = contiguous(&content)?;
    released(python, || Ok(checksum::crc32c(content)))
}

/// Hash values: XXH3-64 of each MiB in turn, seeded with the hash so far.
#[pyfunction]
pub fn hash_values(python: Python<'_>, values: PyReadonlyArray1<'_, u8>, seed: u64) -> PyResult<u64> {
    let values = contiguous(&values)?;
    released(python, || Ok(checksum::hash_values(values, seed)))
}

/// Choose the instructions that hot loops use: `auto`, `baseline` or `v3`.
#[pyfunction]
pub fn set_isa(python: Python<'_>, name: &str) -> PyResult<()> {
    released(python, || crate::isa::choose(name))
}

/// Name the instructions that hot loops use: `baseline` or `v3`.
#[pyfunction]
pub fn isa() -> &'static str {
    crate::isa::name()
}
