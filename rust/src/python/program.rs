//! Bound functions of `program` and `fold`.

use numpy::{
    PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::column::Column;
use crate::fold::{self, Rows};
use crate::program::layout::Program;
use crate::program::run;

use super::blocks::{ColumnInput, contiguous};
use super::released;

/// The rows of a two-dimensional array of `N` columns.
pub fn rows_of<'a, const N: usize>(array: &'a PyReadonlyArray2<'_, i64>) -> PyResult<&'a [[i64; N]]> {
    if array.shape().get(1) != Some(&N) {
        return Err(PyValueError::new_err(format!("expected an array of {N} columns")));
    }
    let words = array.as_slice().map_err(|_| PyTypeError::new_err("array isn't contiguous"))?;
    Ok(words.as_chunks().0)
}

/// Borrow columns for a kernel.
pub fn columns_of<'a>(inputs: &'a [ColumnInput<'_>]) -> PyResult<Vec<Column<'a>>> {
    inputs.iter().map(ColumnInput::column).collect()
}

/// The items of an array to write; an error where it has gaps.
pub fn contiguous_mut<'a>(array: &'a mut PyReadwriteArray1<'_, i64>) -> PyResult<&'a mut [i64]> {
    array.as_slice_mut().map_err(|_| PyTypeError::new_err("array isn't contiguous"))
}

/// Words of state and words of an output row that a program needs.
#[pyfunction]
pub fn program_sizes(python: Python<'_>, program: PyReadonlyArray1<'_, i64>) -> PyResult<(usize, usize)> {
    let words = contiguous(&program)?;
    released(python, || {
        let program = Program::parse(words)?;
        Ok((program.state_words(), program.output_words))
    })
}

/// Work through pieces until they are done, the output is full or the budget is spent.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn run_program(
    python: Python<'_>,
    program: PyReadonlyArray1<'_, i64>,
    parts: Vec<Vec<ColumnInput<'_>>>,
    pieces: PyReadonlyArray2<'_, i64>,
    mut state: PyReadwriteArray1<'_, i64>,
    mut out: PyReadwriteArray2<'_, i64>,
    row_budget: usize,
) -> PyResult<(usize, bool)> {
    let words = contiguous(&program)?;
    let parts = parts.iter().map(|columns| columns_of(columns)).collect::<PyResult<Vec<_>>>()?;
    let pieces = rows_of(&pieces)?;
    let state = contiguous_mut(&mut state)?;
    let capacity = out.shape().get(1).copied().unwrap_or_default();
    let out = out.as_slice_mut().map_err(|_| PyTypeError::new_err("array isn't contiguous"))?;
    released(python, || {
        let program = Program::parse(words)?;
        let progress = run::run(&program, &parts, pieces, state, out, capacity, row_budget)?;
        Ok((progress.emitted, progress.done))
    })
}

/// Add the partial rows of each group in their order.
#[pyfunction]
#[pyo3(signature = (program, starts, order, rows, out))]
pub fn fold_groups(
    python: Python<'_>,
    program: PyReadonlyArray1<'_, i64>,
    starts: PyReadonlyArray1<'_, i64>,
    order: Option<PyReadonlyArray1<'_, i64>>,
    rows: PyReadonlyArray2<'_, i64>,
    mut out: PyReadwriteArray2<'_, i64>,
) -> PyResult<()> {
    let words = contiguous(&program)?;
    let starts = contiguous(&starts)?;
    let order = order.as_ref().map(contiguous).transpose()?;
    let count = rows.shape().get(1).copied().unwrap_or_default();
    let rows = rows.as_slice().map_err(|_| PyTypeError::new_err("array isn't contiguous"))?;
    let out = out.as_slice_mut().map_err(|_| PyTypeError::new_err("array isn't contiguous"))?;
    released(python, || {
        let program = Program::parse(words)?;
        fold::fold_groups(&program, starts, order, &Rows::new(&program, rows, count)?, out)
    })
}
