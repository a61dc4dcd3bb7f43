"""Random programs over random columns, against Python values row by row.

Every instruction is built twice: as a register of the program, and as a list of Python values, None for null.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade import kernels
from colonnade.query.program import LEAF_ROWS, Aggregate, ProgramBuilder
from kernel_columns import column, fold, run

ROWS = 700
LIMIT = 1 << 64
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FLOATS = np.array([0.0, -0.0, 1.5, 2.25, -3.5, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 0.1])


def wrapped(value):
    return (value + LIMIT // 2) % LIMIT - LIMIT // 2


def order_key(value):
    """Order of Polars: NaN equals NaN and is above all."""
    return (1, 0.0) if value != value else (0, value)  # noqa: PLR0124 - NaN by its definition


def divided(a, b):
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def by_float(function):
    def result(a, b):
        with np.errstate(all="ignore"):
            return float(function(np.float64(a), np.float64(b)))

    return result


def nullable(function):
    return lambda *sides: None if any(side is None for side in sides) else function(*sides)


def kleene_and(a, b):
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def kleene_or(a, b):
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


class World:
    """Columns, the program that grows over them, and the Python values of every register."""

    def __init__(self, seed, encoding, codec):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.build = ProgramBuilder()
        small = rng.integers(-5, 6, ROWS).astype(np.int32)
        wide = rng.choice(np.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1, 12345]), ROWS)
        times = np.cumsum(rng.integers(0, 9, ROWS)) - 300
        floats = np.where(rng.random(ROWS) < 0.5, rng.choice(FLOATS, ROWS), rng.normal(size=ROWS))
        bools = rng.integers(0, 2, ROWS).astype(np.uint8)
        codes = rng.choice(np.array([0, 3, 77], np.uint32), ROWS)
        valid = {name: rng.random(ROWS) > share for name, share in (("i", 0.2), ("f", 0.3), ("b", 0.1))}
        if rng.random() < 0.3:
            valid["i"][:] = False
        made = [
            (small, valid["i"], None),
            (wide, None, None),
            (times, None, None),
            (floats, valid["f"], None),
            (rng.normal(100, 1, ROWS), None, None),
            (bools, valid["b"], None),
            (codes, None, 77),
        ]
        self.part = [
            column(values, valid=mask, null_code=code, encoding=encoding, codec=codec, block_rows=512)
            for values, mask, code in made
        ]
        self.values = {}
        for position, (values, mask, code) in enumerate(made):
            floating = values.dtype.kind == "f"
            register = self.build.load_float(position) if floating else self.build.load_int(position)
            listed = [
                None if (mask is not None and not mask[row]) or value == code else value
                for row, value in enumerate(values.tolist())
            ]
            self.values[register] = listed
        self.times = self.build.load_int(2)

    def of(self, *holds):
        return [register for register in self.values if register.holds in holds]

    def pick(self, *holds):
        found = self.of(*holds)
        return found[self.rng.integers(len(found))]

    def keep(self, register, function, *sides):
        self.values[register] = [function(*row) for row in zip(*(self.values[s] for s in sides), strict=True)]

    def constants(self):
        build = self.build
        number = int(self.rng.integers(-4, 5))
        float_value = float(self.rng.choice(FLOATS))
        for register, value in (
            (build.int_constant(number), number),
            (build.float_constant(float_value), float_value),
            (build.bool_constant(bool(number > 0)), number > 0),
            (build.int_constant(None), None),
        ):
            self.values[register] = [value] * ROWS

    def grow(self):  # noqa: C901, PLR0912 - one branch an operation
        build = self.build
        kind = int(self.rng.integers(14))
        i, j = self.pick("int"), self.pick("int")
        f, g = self.pick("float"), self.pick("float")
        b = self.pick("bool") if self.of("bool") else None
        if kind == 0:
            name, function = [
                ("add", operator.add), ("subtract", operator.sub), ("multiply", operator.mul)
            ][self.rng.integers(3)]  # fmt: skip
            self.keep(getattr(build, name)(i, j), nullable(lambda x, y: wrapped(function(x, y))), i, j)
        elif kind == 1:
            name, function = [
                ("add", operator.add), ("subtract", operator.sub), ("multiply", operator.mul)
            ][self.rng.integers(3)]  # fmt: skip
            self.keep(getattr(build, name)(f, g), nullable(by_float(function)), f, g)
        elif kind == 2:
            self.keep(build.divide(f, g), nullable(divided), f, g)
        elif kind == 3:
            self.keep(
                build.floor_divide(i, j), nullable(lambda x, y: None if y == 0 else wrapped(x // y)), i, j
            )
        elif kind == 4:
            self.keep(build.modulo(i, j), nullable(lambda x, y: None if y == 0 else x % y), i, j)
        elif kind == 5:
            sign = list(COMPARE)[self.rng.integers(6)]
            self.keep(build.compare(sign, i, j), nullable(COMPARE[sign]), i, j)
        elif kind == 6:
            sign = list(COMPARE)[self.rng.integers(6)]
            function = COMPARE[sign]
            self.keep(
                build.compare(sign, f, g),
                nullable(lambda x, y: function(order_key(x), order_key(y))),
                f,
                g,
            )
        elif kind == 7:
            wanted = [int(value) for value in self.rng.integers(-6, 100, self.rng.integers(0, 14))]
            self.keep(build.is_in(i, wanted), nullable(lambda x: x in wanted), i)
        elif kind == 8:
            self.keep(build.negate(i), nullable(lambda x: wrapped(-x)), i)
            self.keep(build.negate(f), nullable(operator.neg), f)
        elif kind == 9:
            any_register = self.pick("int", "float", "bool")
            self.keep(build.is_null(any_register), lambda x: x is None, any_register)
            self.keep(build.is_valid(any_register), lambda x: x is not None, any_register)
            self.keep(build.is_nan(f), nullable(math.isnan), f)
        elif kind == 10:
            self.keep(build.to_float(i), nullable(lambda x: float(np.int64(x))), i)
        elif kind == 11 and b is not None:
            self.keep(build.not_(b), nullable(operator.not_), b)
            self.keep(build.to_int(b), nullable(int), b)
        elif kind == 12 and b is not None:
            other = self.pick("bool")
            self.keep(build.and_(b, other), kleene_and, b, other)
            self.keep(build.or_(b, other), kleene_or, b, other)
        else:
            width, offset = int(self.rng.integers(1, 90)), int(self.rng.integers(-99, 99))
            register = build.bucket(i, width=width, offset=offset)
            self.keep(register, nullable(lambda x: wrapped(x - (x - offset) % width)), i)


def reference(world, pieces, keys, aggregates, condition, rule):
    """Give the output rows: null flags, keys and aggregates as Python values, in the order of emission."""
    rows, groups, leaf_now = [], {}, None
    for _, start, stop, symbol, date, leaf_row in pieces:
        for row in range(start, stop):
            if condition is not None and world.values[condition][row] is not True:
                continue
            leaf = (symbol, date, (leaf_row + row - start) // LEAF_ROWS)
            key = tuple(
                key_value(
                    {"symbol": symbol, "date": date}.get(k, 0) if isinstance(k, str) else world.values[k][row]
                )
                for k in keys
            )
            if leaf != leaf_now or (rule == "runs" and key not in groups):
                rows += [finished(world, key_, members, aggregates) for key_, members in groups.items()]
                groups, leaf_now = {}, leaf
            groups.setdefault(key, []).append(row)
    return rows + [finished(world, key, members, aggregates) for key, members in groups.items()]


def key_value(value):
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def finished(world, key, members, aggregates):
    return (*key, *(aggregate_of(world, aggregate, members) for aggregate in aggregates))


def aggregate_of(world, aggregate, members):  # noqa: PLR0911 - one a kind
    if aggregate.kind == "len":
        return len(members)
    values = [world.values[aggregate.register][row] for row in members]
    there = [value for value in values if value is not None]
    floating = aggregate.register.holds == "float"
    if aggregate.kind == "count":
        return len(there)
    if aggregate.kind == "sum" and floating:
        lanes = [0.0] * 8
        for number, value in enumerate(values):
            if value is not None:
                lanes[number % 8] += value
        a, b, c, d, e, f, g, h = lanes
        return plain(((a + b) + (c + d)) + ((e + f) + (g + h)))
    if aggregate.kind == "sum":
        return sum(there)
    if aggregate.kind in ("first", "last"):
        return plain(values[0 if aggregate.kind == "first" else -1])
    best = min if aggregate.kind == "min" else max
    numbers = [value for value in there if value == value]  # noqa: PLR0124 - NaN by its definition
    if numbers:
        return best(numbers) + 0
    return "nan" if there else None


def plain(value):
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def decoded(program, out):
    """Give the output rows in the form of the reference."""
    columns = []
    for number, key in enumerate(program.keys):
        columns.append(words(out[1 + number], key.holds == "float", out[0] >> number & 1))
    for number, (aggregate, place) in enumerate(zip(program.aggregates, program.places, strict=True)):
        nulls = out[0] >> (len(program.keys) + number) & 1
        if aggregate.output_words == 2:
            pairs = zip(out[place].tolist(), out[place + 1].tolist(), strict=True)
            columns.append([(high << 64) + low % LIMIT for low, high in pairs])
        else:
            floating = aggregate.kind not in ("len", "count") and aggregate.register.holds == "float"
            columns.append(words(out[place], floating, nulls))
    return list(zip(*columns, strict=True))


def words(row, floating, nulls):
    values = row.view(np.float64).tolist() if floating else row.tolist()
    return [None if null else plain(value) for value, null in zip(values, nulls.tolist(), strict=True)]


def bits(rows):
    """Tell -0.0 from 0.0."""
    return [tuple(str(value) if isinstance(value, float) else value for value in row) for row in rows]


def random_pieces(rng):
    pieces = []
    for _ in range(int(rng.integers(1, 9))):
        start, stop = sorted(rng.integers(0, ROWS + 1, 2).tolist())
        if rng.random() < 0.3:
            stop = min(start + 1, ROWS)
        symbol, date = int(rng.integers(-1, 2)), int(rng.integers(19_000, 19_002))
        leaf_row = int(rng.choice([0, LEAF_ROWS - 3, LEAF_ROWS - 600, LEAF_ROWS * 5 - 64]))
        pieces.append((0, start, stop, symbol, date, leaf_row))
    return pieces


@settings(max_examples=400, deadline=None)
@given(
    seed=st.integers(0, 2**40),
    rule=st.sampled_from(["runs", "hash"]),
    encoding=st.sampled_from(["plain", "bitpack", "pco", "dict", "runs", "bytes"]),
    codec=st.sampled_from(["none", "zstd"]),
    capacity=st.sampled_from([1, 3, 5_000]),
    budget=st.sampled_from([1, 1 << 22]),
    isa=st.sampled_from(["baseline", "auto"]),
)
def test_random_programs_give_what_the_reference_gives(seed, rule, encoding, codec, capacity, budget, isa):
    world = World(seed, encoding, codec)
    rng, build = world.rng, world.build
    world.constants()
    for _ in range(int(rng.integers(0, 25))):
        world.grow()
    chosen = [
        ["symbol", "date", world.pick("int"), world.pick("float"), world.times][rng.integers(5)]
        for _ in range(int(rng.integers(0, 4)))
    ]
    if rng.random() < 0.4:
        bucket = build.bucket(world.times, width=40, offset=3)
        world.keep(bucket, lambda x: x - (x - 3) % 40, world.times)
        chosen.append(bucket)
    registers = [getattr(build, k)() if isinstance(k, str) else k for k in chosen]
    aggregates = [Aggregate("len")]
    if rng.random() < 0.5:  # with a sum of ints and one of floats these are made in one pass
        shared = world.pick("float")
        aggregates += [Aggregate("max", shared), Aggregate("min", shared)]
    for kind in ("count", "sum", "min", "max", "first", "last"):
        aggregates += [Aggregate(kind, world.pick("int")), Aggregate(kind, world.pick("float"))]
    condition = world.pick("bool") if world.of("bool") and rng.random() < 0.6 else None
    program = build.finish(keys=registers, aggregates=aggregates, condition=condition, rule=rule)
    pieces = random_pieces(rng)
    before = kernels.isa()
    kernels.set_isa(isa)
    try:
        out = run(program, [world.part], pieces, capacity=capacity, budget=budget)
    finally:
        kernels.set_isa(before)
    expected = reference(world, pieces, chosen, aggregates, condition, rule)
    assert bits(decoded(program, out)) == bits(expected)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_folded_rows_are_the_partial_rows_added_in_order(seed):
    world = World(seed, "plain", "none")
    aggregates = [Aggregate("len")]
    for kind in ("count", "sum", "min", "max", "first", "last"):
        aggregates += [Aggregate(kind, world.pick("int")), Aggregate(kind, world.pick("float"))]
    key = world.pick("int")
    program = world.build.finish(keys=[key], aggregates=aggregates, rule="runs")
    rows = run(program, [world.part], random_pieces(world.rng))
    expected = {}
    for row in decoded(program, rows):
        expected.setdefault(row[0], []).append(row[1:])
    folded = [
        (
            key,
            *(
                added(aggregate, list(column_))
                for aggregate, column_ in zip(aggregates, zip(*partial, strict=True), strict=True)
            ),
        )
        for key, partial in expected.items()
    ]
    found = decoded(program, fold(program, rows))
    by_key = lambda row: (row[0] is None, row[0] or 0)  # noqa: E731 - one line
    assert bits(sorted(found, key=by_key)) == bits(sorted(folded, key=by_key))


def added(aggregate, values):
    if aggregate.kind in ("first", "last"):
        return values[0 if aggregate.kind == "first" else -1]
    if aggregate.kind in ("min", "max"):
        there = [value for value in values if value is not None]
        numbers = [value for value in there if value != "nan"]
        best = min if aggregate.kind == "min" else max
        return best(numbers) if numbers else ("nan" if there else None)
    total = values[0]
    for value in values[1:]:
        total = "nan" if "nan" in (total, value) else plain(total + value)
    return total
