"""Programs for the kernels: instructions over registers, keys, aggregates; flattened to one int64 array.

`ProgramBuilder` hands out registers; equal instructions share one. `Program` is the frozen result: it can be
compared, pickled and printed; `Program.words` is what `kernels.run_program` takes. The words and every
operation are stated in `rust/src/program/layout.rs`, which checks them again.

```python
build = ProgramBuilder()
price, size = build.load_float(1), build.load_int(2)
minute = build.bucket(build.load_int(0), width=60_000_000_000, offset=0)
program = build.finish(
    keys=[build.symbol(), minute],
    aggregates=[Aggregate("first", price), Aggregate("sum", size),
                Aggregate("sum", build.multiply(price, build.to_float(size)))],
    condition=build.compare(">", size, build.int_constant(0)),
)
```

**Null and NaN.** Arithmetic and comparisons of a null are null; ``and`` and ``or`` are three-valued; a
condition takes rows where it is true. In comparisons NaN equals NaN and is above all other floats, as in
Polars. Int arithmetic wraps around; dividing an int by 0 gives null.

**Groups.** Rule ``runs`` is for keys whose equal values lie next to each other within a piece's symbol and
date; ``hash`` for any keys. Either gives one row a (group, leaf), in the order of rows; a leaf is 2^20
consecutive rows of one symbol in one partition. `kernels.fold_groups` adds the rows of one group. A hash
table that is full is emitted and a fresh one begins, so a group may come several times in a leaf.

**Output.** ``int64[program.output_words, capacity]``; word 0 tells nulls (bit i: key i, bit
``len(keys) + j``: aggregate j), then one word a key, then each aggregate's words (`Program.places`). Floats
are their bits (``out[word].view(np.float64)``); a sum of ints has two words, low and high of an int128.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

VERSION: Final = 1
LEAF_ROWS: Final = 1 << 20
TABLE_GROUPS: Final = 1 << 14  # groups of a hash table; part of the answer's definition, see the module

RegisterClass = Literal["int", "float", "bool"]
AggregateKind = Literal["len", "count", "sum", "min", "max", "first", "last"]
Comparison = Literal["==", "!=", "<", "<=", ">", ">="]

_COMPARISONS: Final[tuple[Comparison, ...]] = ("==", "!=", "<", "<=", ">", ">=")
_KINDS: Final[tuple[AggregateKind, ...]] = ("len", "count", "sum", "min", "max", "first", "last")


class Operation(IntEnum):
    """Numbers of the operations; comparisons of ints are 30 to 35, of floats 40 to 45."""

    LOAD_INT = 1
    LOAD_FLOAT = 2
    LOAD_ORDERED = 3
    LOAD_SYMBOL = 4
    LOAD_DATE = 5
    INT_CONSTANT = 6
    FLOAT_CONSTANT = 7
    BOOL_CONSTANT = 8
    ADD_INT = 10
    SUBTRACT_INT = 11
    MULTIPLY_INT = 12
    FLOOR_DIVIDE = 13
    MODULO = 14
    NEGATE_INT = 15
    ADD_FLOAT = 20
    SUBTRACT_FLOAT = 21
    MULTIPLY_FLOAT = 22
    DIVIDE = 23
    NEGATE_FLOAT = 24
    COMPARE_INT = 30
    COMPARE_FLOAT = 40
    NOT = 50
    AND = 51
    OR = 52
    IS_NULL = 53
    IS_VALID = 54
    IS_NAN = 55
    IS_IN = 56
    TO_FLOAT = 57
    TO_INT = 58
    BUCKET = 59


@dataclass(frozen=True, slots=True)
class Register:
    """The values that an instruction gives: its number, and what they are."""

    number: int
    holds: RegisterClass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operation and its three words; the register it writes has its own position."""

    operation: int
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What is made of a register's values in a group; ``len`` counts rows and has no register.

    ``sum`` of no value is 0, ``min``, ``max`` skip null and NaN (NaN where there is nothing else; -0.0 comes
    out as 0.0), ``first`` and ``last`` give that row's value, null or not.
    """

    kind: AggregateKind
    register: Register | None = None

    @property
    def output_words(self) -> int:
        """Words in an output row."""
        is_wide = self.kind == "sum" and self.register is not None and self.register.holds == "int"
        return 2 if is_wide else 1


@dataclass(frozen=True, slots=True)
class Program:
    """A finished program.

    Attributes
    ----------
    columns
        Positions among the columns of a part, in the order in which loads name them.
    instructions
        Instruction i writes register i.
    keys, aggregates
        What an output row holds.
    condition
        Register of the condition, or None for all rows.
    hash_groups
        Size of the hash table, or 0 for the rule of runs.
    constants
        Lists of `is_in`.
    """

    columns: tuple[int, ...]
    instructions: tuple[Instruction, ...]
    keys: tuple[Register, ...]
    aggregates: tuple[Aggregate, ...]
    condition: Register | None
    hash_groups: int
    constants: tuple[int, ...]

    @property
    def words(self) -> NDArray[np.int64]:
        """The flat form."""
        flat: list[int] = [
            VERSION,
            int(self.hash_groups > 0),
            len(self.columns),
            len(self.instructions),
            -1 if self.condition is None else self.condition.number,
            len(self.keys),
            len(self.aggregates),
            len(self.constants),
            self.hash_groups,
            0,
            *self.columns,
        ]
        for instruction in self.instructions:
            flat += (instruction.operation, instruction.a, instruction.b, instruction.c)
        flat += (key.number for key in self.keys)
        for aggregate in self.aggregates:
            register = -1 if aggregate.register is None else aggregate.register.number
            flat += (_KINDS.index(aggregate.kind), register)
        flat += self.constants
        return np.array(flat, np.int64)

    @property
    def places(self) -> tuple[int, ...]:
        """First output word of each aggregate."""
        word = 1 + len(self.keys)
        places = []
        for aggregate in self.aggregates:
            places.append(word)
            word += aggregate.output_words
        return tuple(places)

    @property
    def output_words(self) -> int:
        """Words of an output row."""
        return 1 + len(self.keys) + sum(aggregate.output_words for aggregate in self.aggregates)


@dataclass(slots=True)
class ProgramBuilder:
    """Collects instructions; the same instruction twice is one register."""

    _columns: list[int] = field(default_factory=list)
    _instructions: list[Instruction] = field(default_factory=list)
    _registers: dict[Instruction, Register] = field(default_factory=dict)
    _constants: list[int] = field(default_factory=list)

    def load_int(self, column: int) -> Register:
        """Read a column of a part as ints: integers, times, dates, symbol codes, chars, bools as 0 and 1.

        A uint64 above 2^63-1 raises `UnsupportedQueryError` when it is read.
        """
        return self._add("int", Operation.LOAD_INT, self._column(column))

    def load_ordered(self, column: int) -> Register:
        """Read uint64 with the top bit flipped: comparisons, min, max, first and last hold over its range.

        Flip constants and results too: ``value ^ (1 << 63)`` as int64.
        """
        return self._add("int", Operation.LOAD_ORDERED, self._column(column))

    def load_float(self, column: int) -> Register:
        """Read a column of floats; float32 is widened."""
        return self._add("float", Operation.LOAD_FLOAT, self._column(column))

    def symbol(self) -> Register:
        """Give the piece's symbol."""
        return self._add("int", Operation.LOAD_SYMBOL)

    def date(self) -> Register:
        """Give the piece's date as days."""
        return self._add("int", Operation.LOAD_DATE)

    def int_constant(self, value: int | None) -> Register:
        """Give an int in every row, or null."""
        return self._add("int", Operation.INT_CONSTANT, value or 0, int(value is None))

    def float_constant(self, value: float | None) -> Register:
        """Give a float in every row, or null."""
        bits = int(np.float64(0.0 if value is None else value).view(np.int64))
        return self._add("float", Operation.FLOAT_CONSTANT, bits, int(value is None))

    def bool_constant(self, value: bool | None) -> Register:  # noqa: FBT001 - the value is the point
        """Give a bool in every row, or null."""
        return self._add("bool", Operation.BOOL_CONSTANT, int(value or False), int(value is None))

    def add(self, a: Register, b: Register) -> Register:
        """Give a + b of two ints or two floats."""
        return self._arithmetic(a, b, Operation.ADD_INT, Operation.ADD_FLOAT)

    def subtract(self, a: Register, b: Register) -> Register:
        """Give a - b of two ints or two floats."""
        return self._arithmetic(a, b, Operation.SUBTRACT_INT, Operation.SUBTRACT_FLOAT)

    def multiply(self, a: Register, b: Register) -> Register:
        """Give a * b of two ints or two floats."""
        return self._arithmetic(a, b, Operation.MULTIPLY_INT, Operation.MULTIPLY_FLOAT)

    def divide(self, a: Register, b: Register) -> Register:
        """Give a / b of two floats."""
        return self._add("float", Operation.DIVIDE, _of("float", a), _of("float", b))

    def floor_divide(self, a: Register, b: Register) -> Register:
        """Give the floor of a / b of two ints."""
        return self._add("int", Operation.FLOOR_DIVIDE, _of("int", a), _of("int", b))

    def modulo(self, a: Register, b: Register) -> Register:
        """Give a - b * floor(a / b) of two ints."""
        return self._add("int", Operation.MODULO, _of("int", a), _of("int", b))

    def negate(self, a: Register) -> Register:
        """Give -a of an int or a float."""
        if a.holds == "int":
            return self._add("int", Operation.NEGATE_INT, a.number)
        return self._add("float", Operation.NEGATE_FLOAT, _of("float", a))

    def compare(self, comparison: Comparison, a: Register, b: Register) -> Register:
        """Compare two ints or two floats."""
        base = Operation.COMPARE_INT if a.holds == "int" else Operation.COMPARE_FLOAT
        holds: RegisterClass = "int" if a.holds == "int" else "float"
        return self._add("bool", base + _COMPARISONS.index(comparison), _of(holds, a), _of(holds, b))

    def not_(self, a: Register) -> Register:
        """Give not a."""
        return self._add("bool", Operation.NOT, _of("bool", a))

    def and_(self, a: Register, b: Register) -> Register:
        """Give a and b."""
        return self._add("bool", Operation.AND, _of("bool", a), _of("bool", b))

    def or_(self, a: Register, b: Register) -> Register:
        """Give a or b."""
        return self._add("bool", Operation.OR, _of("bool", a), _of("bool", b))

    def is_null(self, a: Register) -> Register:
        """Tell which rows are null."""
        return self._add("bool", Operation.IS_NULL, a.number)

    def is_valid(self, a: Register) -> Register:
        """Tell which rows are not null."""
        return self._add("bool", Operation.IS_VALID, a.number)

    def is_nan(self, a: Register) -> Register:
        """Tell which floats are NaN."""
        return self._add("bool", Operation.IS_NAN, _of("float", a))

    def is_in(self, a: Register, values: Sequence[int]) -> Register:
        """Tell which ints are among the values."""
        listed = sorted(set(values))
        first = len(self._constants)
        self._constants += listed
        return self._add("bool", Operation.IS_IN, _of("int", a), first, len(listed))

    def to_float(self, a: Register) -> Register:
        """Round ints to floats."""
        return self._add("float", Operation.TO_FLOAT, _of("int", a))

    def to_int(self, a: Register) -> Register:
        """Give bools as 0 and 1."""
        return self._add("int", Operation.TO_INT, _of("bool", a))

    def bucket(self, a: Register, *, width: int, offset: int = 0) -> Register:
        """Give the start of each int's bucket: ``floor((a - offset) / width) * width + offset``.

        As a key by the rule of runs it costs no division a row.
        """
        return self._add("int", Operation.BUCKET, _of("int", a), width, offset)

    def finish(
        self,
        *,
        keys: Sequence[Register] = (),
        aggregates: Sequence[Aggregate] = (),
        condition: Register | None = None,
        rule: Literal["runs", "hash"] = "runs",
    ) -> Program:
        """Make the program; without keys there is one group a leaf."""
        return Program(
            columns=tuple(self._columns),
            instructions=tuple(self._instructions),
            keys=tuple(keys),
            aggregates=tuple(aggregates),
            condition=condition,
            hash_groups=TABLE_GROUPS if rule == "hash" else 0,
            constants=tuple(self._constants),
        )

    def _column(self, position: int) -> int:
        if position not in self._columns:
            self._columns.append(position)
        return self._columns.index(position)

    def _arithmetic(self, a: Register, b: Register, ints: Operation, floats: Operation) -> Register:
        if a.holds == "int":
            return self._add("int", ints, a.number, _of("int", b))
        return self._add("float", floats, _of("float", a), _of("float", b))

    def _add(self, holds: RegisterClass, operation: int, a: int = 0, b: int = 0, c: int = 0) -> Register:
        instruction = Instruction(int(operation), a, b, c)
        if instruction not in self._registers:
            self._registers[instruction] = Register(len(self._instructions), holds)
            self._instructions.append(instruction)
        return self._registers[instruction]


def _of(holds: RegisterClass, register: Register) -> int:
    if register.holds != holds:
        raise TypeError(f"register {register.number} holds {register.holds}, expected {holds}")
    return register.number
