//! The flat form of a program, its validation, and the words of its state and output.
//!
//! All words are int64.
//!
//! ```text
//! header        0 version (1)   1 group rule: 0 runs, 1 hash   2 columns   3 instructions
//!               4 condition register, -1 none   5 keys   6 aggregates   7 constants
//!               8 groups that a hash table holds before it is emitted, a power of two (0 for runs)   9 zero
//! columns       1 word each: position among the columns of a part
//! instructions  4 words each: operation, a, b, c; instruction i writes register i and reads registers below i
//! keys          1 word each: register
//! aggregates    2 words each: kind, register (-1 for len)
//! constants     sorted lists of `is_in`
//! ```
//!
//! | operation | a, b, c | gives |
//! | --- | --- | --- |
//! | 1 load integer | column | int; symbol and char codes, bools as 0 and 1; refuses uint64 above 2^63-1 |
//! | 2 load float | column | float |
//! | 3 load ordered | column | int; uint64 with the top bit flipped, so that int64 order is its order |
//! | 4 load symbol, 5 load date | | int of the piece |
//! | 6 int, 7 float, 8 bool constant | value (float: its bits), 1 for null | |
//! | 10 add, 11 subtract, 12 multiply, 13 floor-divide, 14 modulo, 15 negate | int, int | int, wrapping; null for a zero divisor |
//! | 20 add, 21 subtract, 22 multiply, 23 divide, 24 negate | float, float | float |
//! | 30 =, 31 !=, 32 <, 33 <=, 34 >, 35 >= | int, int | bool |
//! | 40 =, 41 !=, 42 <, 43 <=, 44 >, 45 >= | float, float | bool; NaN equals NaN and is above all |
//! | 50 not, 51 and, 52 or | bool, bool | bool, three-valued |
//! | 53 is null, 54 is valid | any | bool without null |
//! | 55 is NaN | float | bool |
//! | 56 is in | int, first constant, constants (ascending) | bool |
//! | 57 int to float | int | float |
//! | 58 bool to int | bool | int |
//! | 59 bucket | int, width, offset | int: floor((x - offset) / width) * width + offset |
//!
//! Aggregates: 0 len, 1 count, 2 sum, 3 min, 4 max, 5 first, 6 last; all but the first two over int or float.
//!
//! Output, one row a (group, leaf): `0 nulls` (bit i set: key i is null; bit keys + j: aggregate j is null),
//! one word a key, then the words of each aggregate: 1, or for a sum of ints 2 (low and high of an i128).

use crate::error::{KernelError, Result};

/// Version of the layout.
pub const VERSION: i64 = 1;
/// Words of the header.
pub const HEADER_WORDS: usize = 10;
/// Rows of a leaf, the unit of float sums.
pub const LEAF_ROWS: u64 = 1 << 20;
/// Widest bucket, so that the arithmetic cannot overflow.
const MAX_BUCKET: i64 = 1 << 62;
const MAX_COLUMNS: usize = 4096;
const MAX_INSTRUCTIONS: usize = 4096;
const MAX_TABLE_GROUPS: usize = 1 << 20;

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Integers as i64.
    Int,
    /// Floats as f64.
    Float,
    /// Truth values, one byte each.
    Bool,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Arithmetic on two ints or two floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// Floor division of ints, division of floats.
    Div,
    /// Modulo with the divisor's sign; ints only.
    Mod,
}

/// One validated instruction; `a` and `b` are registers below its own.
#[expect(missing_docs, reason = "the fields are the operands of the table above")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// Read a column as ints; with `ordered`, uint64 has its top bit flipped.
    LoadInt { column: usize, ordered: bool },
    /// Read a column as floats.
    LoadFloat { column: usize },
    /// The piece's symbol.
    LoadSymbol,
    /// The piece's date.
    LoadDate,
    /// The same word in every row; a class and whether it is null.
    Constant { word: i64, class: Class, null: bool },
    /// Arithmetic on ints.
    Int { op: Arithmetic, a: usize, b: usize },
    /// Arithmetic on floats.
    Float { op: Arithmetic, a: usize, b: usize },
    /// -a of ints.
    NegInt { a: usize },
    /// -a of floats.
    NegFloat { a: usize },
    /// Compare ints.
    CompareInt { op: Comparison, a: usize, b: usize },
    /// Compare floats.
    CompareFloat { op: Comparison, a: usize, b: usize },
    /// Not.
    Not { a: usize },
    /// And.
    And { a: usize, b: usize },
    /// Or.
    Or { a: usize, b: usize },
    /// Whether the value is null, or with `valid` is there.
    IsNull { a: usize, valid: bool },
    /// Whether a float is NaN.
    IsNan { a: usize },
    /// Whether an int is one of the constants `first..first + count`.
    IsIn { a: usize, first: usize, count: usize },
    /// Int to float, rounded to nearest.
    ToFloat { a: usize },
    /// Bool to int.
    ToInt { a: usize },
    /// Start of the bucket that holds an int.
    Bucket { a: usize, width: i64, offset: i64 },
}

impl Instruction {
    /// Registers that the instruction reads.
    pub fn operands(self) -> [Option<usize>; 2] {
        match self {
            Self::LoadInt { .. }
            | Self::LoadFloat { .. }
            | Self::LoadSymbol
            | Self::LoadDate
            | Self::Constant { .. } => [None, None],
            Self::NegInt { a }
            | Self::NegFloat { a }
            | Self::Not { a }
            | Self::IsNull { a, .. }
            | Self::IsNan { a }
            | Self::IsIn { a, .. }
            | Self::ToFloat { a }
            | Self::ToInt { a }
            | Self::Bucket { a, .. } => [Some(a), None],
            Self::Int { a, b, .. }
            | Self::Float { a, b, .. }
            | Self::CompareInt { a, b, .. }
            | Self::CompareFloat { a, b, .. }
            | Self::And { a, b }
            | Self::Or { a, b } => [Some(a), Some(b)],
        }
    }
}

/// What is made of the values of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows.
    Len,
    /// Rows that are not null.
    Count,
    /// Sum of the values that are not null, 0 where there is none.
    Sum,
    /// Smallest value; null and NaN are skipped.
    Min,
    /// Largest value; null and NaN are skipped.
    Max,
    /// Value of the first row, null or not.
    First,
    /// Value of the last row, null or not.
    Last,
}

/// One aggregate and where its words lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate {
    /// What is made.
    pub kind: Kind,
    /// Register of the values; unused for `Len`.
    pub register: usize,
    /// Class of the values.
    pub class: Class,
    /// First word in the accumulator of a group.
    pub state: usize,
    /// First word in an output row.
    pub output: usize,
    /// Its bit in the output's word of nulls.
    pub null_bit: i64,
}

impl Aggregate {
    /// Words in the accumulator of a group.
    pub fn state_words(&self) -> usize {
        match (self.kind, self.class) {
            (Kind::Len, _) => 0,
            (Kind::Count, _) => 1,
            (Kind::Sum, Class::Float) => 8,
            _ => 2,
        }
    }

    /// Words in an output row.
    pub fn output_words(&self) -> usize {
        if self.kind == Kind::Sum && self.class == Class::Int { 2 } else { 1 }
    }
}

/// A key of the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its register.
    pub register: usize,
    /// Int or float.
    pub class: Class,
}

/// A validated program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Groups by hash instead of by runs of equal keys.
    pub hash: bool,
    /// Groups that the hash table holds before it is emitted.
    pub table_groups: usize,
    /// Positions among the columns of a part.
    pub columns: Vec<usize>,
    /// Instruction i writes register i.
    pub instructions: Vec<Instruction>,
    /// Class of each register.
    pub classes: Vec<Class>,
    /// Register of the condition.
    pub condition: Option<usize>,
    /// Keys of the groups.
    pub keys: Vec<Key>,
    /// Aggregates.
    pub aggregates: Vec<Aggregate>,
    /// Lists of `is_in`.
    pub constants: Vec<i64>,
    /// Words in the accumulators of one group, all aggregates.
    pub group_words: usize,
    /// Words in an output row.
    pub output_words: usize,
}

/// Words at the start of the state; see [`crate::program::run`].
pub const STATE_HEADER_WORDS: usize = 12;

impl Program {
    /// Words of state that a run needs.
    pub fn state_words(&self) -> usize {
        if self.hash {
            // slots (twice the groups), then groups: keys, nulls, rows, slot, accumulators
            STATE_HEADER_WORDS + self.table_groups * 2 + self.table_groups * self.table_stride()
        } else {
            STATE_HEADER_WORDS + self.keys.len() + self.group_words
        }
    }

    /// Words of one group in a hash table.
    pub fn table_stride(&self) -> usize {
        self.keys.len() + 3 + self.group_words
    }

    /// Read and check a program; afterwards every number in it can be trusted.
    pub fn parse(words: &[i64]) -> Result<Self> {
        let mut source = Words { rest: words };
        let [version, rule, columns, instructions, condition, keys, aggregates, constants, groups, zero] =
            source.take_array()?;
        if version != VERSION {
            return Err(KernelError::UnsupportedVersion(format!(
                "program has version {version}, expected {VERSION}"
            )));
        }
        let hash = within("group rule", rule, 0, 1)? == 1;
        within("last word of the header", zero, 0, 0)?;
        let columns = source.take_list(count("columns", columns, MAX_COLUMNS)?)?;
        let columns = columns
            .iter()
            .map(|&position| usize_of("column position", position))
            .collect::<Result<Vec<_>>>()?;
        let instruction_count = count("instructions", instructions, MAX_INSTRUCTIONS)?;
        let instruction_words = source.take_list(instruction_count * 4)?;
        let key_count = count("keys", keys, 62)?;
        let key_words = source.take_list(key_count)?;
        let aggregate_count = count("aggregates", aggregates, 62 - key_count)?;
        let aggregate_words = source.take_list(aggregate_count * 2)?;
        let constant_count = usize_of("constants", constants)?;
        let constants = source.take_list(constant_count)?.to_vec();
        if !source.rest.is_empty() {
            return Err(invalid(format!("program has {} words too many", source.rest.len())));
        }
        let mut program = Self {
            hash,
            table_groups: 0,
            columns,
            instructions: Vec::with_capacity(instruction_count),
            classes: Vec::with_capacity(instruction_count),
            condition: None,
            keys: Vec::with_capacity(key_count),
            aggregates: Vec::with_capacity(aggregate_count),
            constants,
            group_words: 0,
            output_words: 1 + key_count,
        };
        program.table_groups = match (hash, usize_of("groups of a table", groups)?) {
            (false, 0) => 0,
            (true, groups) if groups.is_power_of_two() && (8..=MAX_TABLE_GROUPS).contains(&groups) => groups,
            (_, groups) => {
                return Err(invalid(format!(
                    "{groups} groups of a table are out of range: expected a power of two from 8 to \
                     {MAX_TABLE_GROUPS}, or 0 for the rule of runs"
                )));
            }
        };
        for (number, words) in instruction_words.as_chunks::<4>().0.iter().enumerate() {
            let (instruction, class) = program
                .instruction(words)
                .map_err(|failure| invalid(format!("instruction {number}: {failure}")))?;
            program.instructions.push(instruction);
            program.classes.push(class);
        }
        if condition != -1 {
            program.condition = Some(program.register("condition", condition, Class::Bool)?);
        }
        for &word in key_words {
            let register = usize_of("key", word)?;
            let class = program.class("key", word)?;
            if class == Class::Bool {
                return Err(invalid(format!("key register {register} holds bools; make them ints")));
            }
            program.keys.push(Key { register, class });
        }
        for [kind, register] in aggregate_words.as_chunks::<2>().0 {
            program.push_aggregate(*kind, *register)?;
        }
        Ok(program)
    }

    fn push_aggregate(&mut self, kind: i64, register: i64) -> Result<()> {
        let kind = match kind {
            0 => Kind::Len,
            1 => Kind::Count,
            2 => Kind::Sum,
            3 => Kind::Min,
            4 => Kind::Max,
            5 => Kind::First,
            6 => Kind::Last,
            _ => return Err(invalid(format!("unknown aggregate {kind}: expected 0 to 6"))),
        };
        let (register, class) = if kind == Kind::Len {
            within("register of len", register, -1, -1)?;
            (0, Class::Int)
        } else {
            (usize_of("aggregate", register)?, self.class("aggregate", register)?)
        };
        if class == Class::Bool && kind != Kind::Count {
            return Err(invalid(format!("aggregate register {register} holds bools; make them ints")));
        }
        let aggregate = Aggregate {
            kind,
            register,
            class,
            state: self.group_words,
            output: self.output_words,
            null_bit: 1 << (self.keys.len() + self.aggregates.len()),
        };
        self.group_words += aggregate.state_words();
        self.output_words += aggregate.output_words();
        self.aggregates.push(aggregate);
        Ok(())
    }

    fn class(&self, what: &str, register: i64) -> Result<Class> {
        usize::try_from(register).ok().and_then(|register| self.classes.get(register).copied()).ok_or_else(
            || {
                invalid(format!(
                    "{what} names register {register}, expected 0 to {}",
                    self.classes.len() as i64 - 1
                ))
            },
        )
    }

    fn register(&self, what: &str, register: i64, expected: Class) -> Result<usize> {
        let class = self.class(what, register)?;
        if class == expected {
            usize_of(what, register)
        } else {
            Err(invalid(format!("{what} register {register} holds {class:?}, expected {expected:?}")))
        }
    }

    fn instruction(&self, words: &[i64; 4]) -> Result<(Instruction, Class)> {
        use Class::{Bool, Float, Int};
        let [op, a, b, c] = *words;
        let int = |word| self.register("operand", word, Int);
        let float = |word| self.register("operand", word, Float);
        let bool_ = |word| self.register("operand", word, Bool);
        let unused =
            |words: &[i64]| words.iter().try_for_each(|&word| within("unused word", word, 0, 0).map(|_| ()));
        let column = |word| {
            let column = usize_of("column", word)?;
            if column < self.columns.len() {
                Ok(column)
            } else {
                Err(invalid(format!(
                    "column {column} is out of range: the program has {}",
                    self.columns.len()
                )))
            }
        };
        Ok(match op {
            1 | 3 => {
                unused(&[b, c])?;
                (Instruction::LoadInt { column: column(a)?, ordered: op == 3 }, Int)
            }
            2 => {
                unused(&[b, c])?;
                (Instruction::LoadFloat { column: column(a)? }, Float)
            }
            4 | 5 => {
                unused(&[a, b, c])?;
                (if op == 4 { Instruction::LoadSymbol } else { Instruction::LoadDate }, Int)
            }
            6..=8 => {
                unused(&[c])?;
                let null = within("null flag", b, 0, 1)? == 1;
                let class = if op == 6 {
                    Int
                } else if op == 7 {
                    Float
                } else {
                    within("bool constant", a, 0, 1)?;
                    Bool
                };
                (Instruction::Constant { word: a, class, null }, class)
            }
            10..=14 => {
                unused(&[c])?;
                (Instruction::Int { op: arithmetic(op - 10), a: int(a)?, b: int(b)? }, Int)
            }
            15 => {
                unused(&[b, c])?;
                (Instruction::NegInt { a: int(a)? }, Int)
            }
            20..=23 => {
                unused(&[c])?;
                (Instruction::Float { op: arithmetic(op - 20), a: float(a)?, b: float(b)? }, Float)
            }
            24 => {
                unused(&[b, c])?;
                (Instruction::NegFloat { a: float(a)? }, Float)
            }
            30..=35 => {
                unused(&[c])?;
                (Instruction::CompareInt { op: comparison(op - 30), a: int(a)?, b: int(b)? }, Bool)
            }
            40..=45 => {
                unused(&[c])?;
                (Instruction::CompareFloat { op: comparison(op - 40), a: float(a)?, b: float(b)? }, Bool)
            }
            50 => {
                unused(&[b, c])?;
                (Instruction::Not { a: bool_(a)? }, Bool)
            }
            51 => {
                unused(&[c])?;
                (Instruction::And { a: bool_(a)?, b: bool_(b)? }, Bool)
            }
            52 => {
                unused(&[c])?;
                (Instruction::Or { a: bool_(a)?, b: bool_(b)? }, Bool)
            }
            53 | 54 => {
                unused(&[b, c])?;
                self.class("operand", a)?;
                (Instruction::IsNull { a: usize_of("operand", a)?, valid: op == 54 }, Bool)
            }
            55 => {
                unused(&[b, c])?;
                (Instruction::IsNan { a: float(a)? }, Bool)
            }
            56 => {
                let first = usize_of("first constant", b)?;
                let count = usize_of("number of constants", c)?;
                let list = first
                    .checked_add(count)
                    .and_then(|stop| self.constants.get(first..stop))
                    .ok_or_else(|| invalid(format!("constants {first} and {count} more are out of range")))?;
                if !list.is_sorted() {
                    return Err(invalid("constants of is_in don't ascend".to_owned()));
                }
                (Instruction::IsIn { a: int(a)?, first, count }, Bool)
            }
            57 => {
                unused(&[b, c])?;
                (Instruction::ToFloat { a: int(a)? }, Float)
            }
            58 => {
                unused(&[b, c])?;
                (Instruction::ToInt { a: bool_(a)? }, Int)
            }
            59 => {
                within("bucket width", b, 1, MAX_BUCKET)?;
                (Instruction::Bucket { a: int(a)?, width: b, offset: c }, Int)
            }
            _ => return Err(invalid(format!("unknown operation {op}"))),
        })
    }
}

fn arithmetic(number: i64) -> Arithmetic {
    match number {
        0 => Arithmetic::Add,
        1 => Arithmetic::Sub,
        2 => Arithmetic::Mul,
        3 => Arithmetic::Div,
        _ => Arithmetic::Mod,
    }
}

fn comparison(number: i64) -> Comparison {
    match number {
        0 => Comparison::Eq,
        1 => Comparison::Ne,
        2 => Comparison::Lt,
        3 => Comparison::Le,
        4 => Comparison::Gt,
        _ => Comparison::Ge,
    }
}

fn invalid(text: String) -> KernelError {
    KernelError::InvalidArgument(text)
}

fn within(what: &str, word: i64, low: i64, high: i64) -> Result<i64> {
    if (low..=high).contains(&word) {
        Ok(word)
    } else if low == high {
        Err(invalid(format!("{what} is {word}, expected {low}")))
    } else {
        Err(invalid(format!("{what} {word} is out of range: expected {low} to {high}")))
    }
}

fn usize_of(what: &str, word: i64) -> Result<usize> {
    usize::try_from(word).map_err(|_| invalid(format!("{what} {word} is out of range: expected 0 or more")))
}

fn count(what: &str, word: i64, most: usize) -> Result<usize> {
    let count = usize_of(what, word)?;
    if count <= most {
        Ok(count)
    } else {
        Err(invalid(format!("{count} {what} are too many: at most {most}")))
    }
}

/// The words not yet read.
struct Words<'a> {
    rest: &'a [i64],
}

impl<'a> Words<'a> {
    fn take_list(&mut self, count: usize) -> Result<&'a [i64]> {
        let (list, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.short(count))?;
        self.rest = rest;
        Ok(list)
    }

    fn take_array<const N: usize>(&mut self) -> Result<[i64; N]> {
        let (list, rest) = self.rest.split_first_chunk().ok_or_else(|| self.short(N))?;
        self.rest = rest;
        Ok(*list)
    }

    fn short(&self, count: usize) -> KernelError {
        KernelError::InvalidArgument(format!(
            "program is too short: {} words are left, expected at least {count}",
            self.rest.len()
        ))
    }
}
