//! Bound functions of `asof`.

use numpy::{PyReadonlyArray2, PyReadwriteArray1};
use pyo3::prelude::*;

use crate::asof::{self, Join, Strategy};

use super::blocks::ColumnInput;
use super::program::{columns_of, contiguous_mut, rows_of};
use super::released;

/// Words of state that an as-of join needs.
#[pyfunction]
pub fn asof_state_words(codes: usize) -> usize {
    Join::state_words(codes)
}

/// Find the right row of each left row; false where the budget is spent.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn asof_rows(
    python: Python<'_>,
    left: Vec<ColumnInput<'_>>,
    right: Vec<ColumnInput<'_>>,
    left_by: Vec<ColumnInput<'_>>,
    right_by: Vec<ColumnInput<'_>>,
    codes: usize,
    pairs: PyReadonlyArray2<'_, i64>,
    strategy: i64,
    tolerance: i64,
    mut state: PyReadwriteArray1<'_, i64>,
    mut out: PyReadwriteArray1<'_, i64>,
    row_budget: usize,
) -> PyResult<bool> {
    let (left, right) = (columns_of(&left)?, columns_of(&right)?);
    let (left_by, right_by) = (columns_of(&left_by)?, columns_of(&right_by)?);
    let pairs = rows_of(&pairs)?;
    let state = contiguous_mut(&mut state)?;
    let out = contiguous_mut(&mut out)?;
    released(python, || {
        let strategy = Strategy::from_id(strategy)?;
        let join = Join {
            left: &left,
            right: &right,
            left_by: &left_by,
            right_by: &right_by,
            codes,
            strategy,
            tolerance,
        };
        asof::asof_rows(&join, pairs, state, out, row_budget)
    })
}
