//! Exceptions are defined in Python (`colonnade/errors.py`); each kind of `KernelError` has one.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error::KernelError;

/// Give the Python exception for a kernel's failure.
pub fn to_python(python: Python<'_>, failure: &KernelError) -> PyErr {
    let class = match failure {
        KernelError::Truncated(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "TruncatedError")
        }
        KernelError::Checksum(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "ChecksumError")
        }
        KernelError::Corrupt(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "HeaderError")
        }
        KernelError::UnsupportedVersion(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "UnsupportedVersionError")
        }
        KernelError::Unsupported(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "UnsupportedQueryError")
        }
        KernelError::InvalidArgument(_) => return PyValueError::new_err(failure.to_string()),
        KernelError::Overflow(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "IntegerOverflowError")
        }
        KernelError::Unsorted(_) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(python, "colonnade.errors", "UnsortedError")
        }
    };
    match class {
        Ok(class) => PyErr::from_type(class.clone(), failure.to_string()),
        Err(import) => import,
    }
}
