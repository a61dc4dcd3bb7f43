//! Bound function of `search`.

use numpy::{PyReadonlyArray2, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::search::{self, Side};

use super::blocks::ColumnInput;
use super::program::{columns_of, contiguous_mut, rows_of};
use super::released;

/// Find in each piece the first row at or above (left) or above (right) a value.
#[pyfunction]
pub fn search_sorted(
    python: Python<'_>,
    columns: Vec<ColumnInput<'_>>,
    pieces: PyReadonlyArray2<'_, i64>,
    value: i64,
    side: &str,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let columns = columns_of(&columns)?;
    let side = match side {
        "left" => Side::Left,
        "right" => Side::Right,
        _ => {
            return Err(PyValueError::new_err(format!(
                "unknown side '{side}'; there are 'left' and 'right'"
            )));
        }
    };
    let pieces = rows_of(&pieces)?;
    let out = contiguous_mut(&mut out)?;
    released(python, || search::search_sorted(&columns, pieces, value, side, out))
}
