//! Programs: typed instructions over vectors of 1,024 rows, a group rule, then aggregates.
//!
//! ```text
//! layout      the flat array of int64 that Python builds; validation; the words of state and output
//! registers   what instructions read and write: a vector of values, and which of them are null
//! vector      the instructions
//! groups      where a run of equal keys ends
//! aggregates  sums, minima … over the runs of a vector; what is kept of an open group
//! together    the four aggregates of bars in one pass
//! table       groups by hash, inside one leaf
//! run         the loop: pieces, leaves, vectors; stops and resumes
//! ```
//!
//! Sums of floats follow one rule, so that an answer never depends on how rows are cut or compiled: within a
//! leaf (2^20 consecutive rows of one symbol in one partition) and a group, the k-th selected row goes to lane
//! k mod 8; no fused multiply-add; the lanes are added as `((0+1)+(2+3))+((4+5)+(6+7))`; leaves are added one
//! by one in order (`fold`).

pub(crate) mod aggregates;
mod groups;
pub mod layout;
mod registers;
pub mod run;
mod table;
mod together;
mod vector;
