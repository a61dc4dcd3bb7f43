//! The extension module `colonnade.kernels._native`: the only folder that knows Python.

mod asof;
mod blocks;
mod error;
mod program;
mod search;

use pyo3::prelude::*;

use crate::error::Result;

/// Release the GIL, run a pure function, convert its error: the one way from Python into a kernel.
fn released<T: Send>(python: Python<'_>, kernel: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    python.detach(kernel).map_err(|failure| error::to_python(python, &failure))
}

/// Kernels of Colonnade.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::blocks::{
        crc32c, decode_rows, decode_string_rows, encode_blocks, encode_string_blocks, hash_values, isa,
        set_isa, take_rows, take_string_rows, validate_index, verify_blocks,
    };

    #[pymodule_export]
    use super::asof::{asof_rows, asof_state_words};

    #[pymodule_export]
    use super::program::{fold_groups, program_sizes, run_program};

    #[pymodule_export]
    use super::search::search_sorted;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("IS_DEBUG_BUILD", cfg!(debug_assertions))
    }
}
