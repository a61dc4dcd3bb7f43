"""Grouped aggregates of a scan: lower the plan to a program, run it over the pieces, give partial rows.

One partial row is a group within one leaf; `combine` adds those of a group one by one, in order. Expressions
that no instruction does are calculated by Polars beforehand, into scratch columns for the same program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import UnsupportedQueryError
from colonnade.kernels import program_sizes, run_program
from colonnade.query.aggregates import FLOAT, INT, ORDERED, Slot, Value, Words, decimal_scale, result_type
from colonnade.query.bars import Segment, has_segments, relabelled, segments_of
from colonnade.query.bind import Scope, type_of
from colonnade.query.expr import Aggregate, Bucket, Column, Node, Unary, columns_of
from colonnade.query.lower import Lowered, Lowering
from colonnade.query.plan import Groups, Output
from colonnade.query.program import Aggregate as KernelAggregate
from colonnade.query.program import AggregateKind, Program
from colonnade.query.rows import calculated as calculated_columns
from colonnade.query.rows import read_columns
from colonnade.query.scan import DATE, PART, START, STOP, Scan, search
from colonnade.query.scratch import ScratchColumn, ScratchPart
from colonnade.schema import DECIMAL_DIGITS, ColumnType
from colonnade.store.source import TableSource

_ROW_BUDGET: Final = 5 << 20  # a task at once, some 20 ms, so that Ctrl-C works between calls
_OUT_ROWS: Final = 1 << 17  # of one output, some MB: larger ones come from fresh, unmapped memory


@dataclass(frozen=True, slots=True)
class Layout:
    """What the words of a partial row are: of nulls, one a key, then those of each aggregate's slots."""

    keys: tuple[Value, ...]
    aggregates: tuple[Value, ...]
    slots: tuple[tuple[Slot, ...], ...]


@dataclass(frozen=True, slots=True)
class Partial:
    """Partial rows of a task.

    Attributes
    ----------
    words
        By `Layout`; bit i of word 0 says that key i is null, bit ``keys + j`` that slot j is.
    symbols
        Of each key, then of each aggregate, the symbols of its codes; None where it holds none.
    """

    layout: Layout
    words: Words
    symbols: tuple[pl.Series | None, ...]


@dataclass(slots=True)
class _Lowered:
    """A program, and how its output becomes the words of a layout."""

    program: Program
    layout: Layout
    lowering: Lowering
    places: list[int]  # output word of each word of the layout
    null_bits: list[int]  # output bit of each bit of the layout
    symbol_columns: tuple[str | None, ...]  # of each key and aggregate; "" for the part key by the piece


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Pieces that one program runs over."""

    pieces: NDArray[np.int64]
    part: int | None  # whose dictionaries hold for all
    segment: Segment | None
    is_cut: bool  # whether the clock is changed on the date


def aggregate(source: TableSource, scan: Scan, work: Groups) -> list[Partial]:
    """Group and aggregate what a scan reads; partial rows stand in the order of the rows they are made of."""
    scope = Scope(source.name, scan.schema)
    buckets = tuple(
        dict.fromkeys(
            key.node for key in work.keys if isinstance(key.node, Bucket) and has_segments(key.node, scope)
        )
    )
    first = _Stretch(scan.pieces, _first_part(scan), None, is_cut=False)
    draft = _lower(scope, scan, work, first, buckets=buckets, known=None)
    texts = list(draft.lowering.text_columns)
    known: Lowering | None = None
    if draft.lowering.calculated or _are_mixed(scan, texts):
        known = draft.lowering
        scan = _with_calculated(scan, work, known)
    partials: list[Partial] = []
    for stretch in _stretches(source, scan, texts, buckets, scope):
        part = first.part if stretch.part is None else stretch.part  # None: no dictionary matters
        is_same = part == first.part and _offsets(stretch, buckets) == _offsets(first, buckets)
        is_drafted = known is None and is_same
        lowered = draft if is_drafted else _lower(scope, scan, work, stretch, buckets=buckets, known=known)
        partials += _run(scan, lowered, stretch, scope)
    if not partials:
        symbols = tuple(_no_symbols(value) for value in (*draft.layout.keys, *draft.layout.aggregates))
        partials = [Partial(draft.layout, [np.empty(0, np.int64) for _ in draft.places], symbols)]
    return partials


def _no_symbols(value: Value) -> pl.Series | None:
    return pl.Series([], dtype=pl.String) if value.is_symbol else None


def _first_part(scan: Scan) -> int | None:
    return int(scan.pieces[0, PART]) if len(scan.pieces) else None


# ---- lowering


def _offsets(stretch: _Stretch, buckets: tuple[Bucket, ...]) -> tuple[int, ...]:
    """Give where the buckets of a stretch begin."""
    return (0,) * len(buckets) if stretch.segment is None else tuple(stretch.segment.offsets)


def _lower(
    scope: Scope,
    scan: Scan,
    work: Groups,
    stretch: _Stretch,
    *,
    buckets: tuple[Bucket, ...],
    known: Lowering | None,
) -> _Lowered:
    def dictionary_of(name: str) -> pl.Series:
        found = None if stretch.part is None else scan.parts[stretch.part].column(name).dictionary
        return pl.Series([], dtype=pl.String) if found is None else found

    lowering = Lowering(scope, dictionary_of, dict(zip(buckets, _offsets(stretch, buckets), strict=True)))
    if known is not None:
        lowering.calculated = known.calculated
        lowering.calculated_types = known.calculated_types
    condition = lowering.condition(scan.conditions)
    keys = [lowering.lower(key.node) for key in work.keys]
    asked: list[KernelAggregate] = []
    slots, values, places = [], [], []
    for output in work.aggregates:
        node = output.node
        assert isinstance(node, Aggregate)  # noqa: S101 - the plan was built so
        lowered = _kernel_aggregates(lowering, node, scan)
        slots.append(tuple(Slot(one.kind, _class_of(one, of)) for one, of in lowered))
        kind = slots[-1][0].values
        is_symbol = node.function in ("min", "max", "first", "last") and _is_symbol(lowering, node.operand)
        scale = decimal_scale(node.operand, scope)
        values.append(Value(output.name, node.function, result_type(node, scope), kind, is_symbol, scale))
        for one, _ in lowered:
            if one not in asked:
                asked.append(one)
            places.append(asked.index(one))
    layout = Layout(
        tuple(_key_value(lowering, key, found, scope) for key, found in zip(work.keys, keys, strict=True)),
        tuple(values),
        tuple(slots),
    )
    rule: Literal["runs", "hash"] = (
        "runs" if all(_is_in_runs(key.node, scope) for key in work.keys) else "hash"
    )
    program = lowering.build.finish(
        keys=[lowering.value(key) for key in keys], aggregates=asked, condition=condition, rule=rule
    )
    flat = [slot for found in slots for slot in found]
    words = list(range(1 + len(keys)))
    for place, slot in zip(places, flat, strict=True):
        words += range(program.places[place], program.places[place] + slot.words)
    return _Lowered(
        program,
        layout,
        lowering,
        words,
        [*range(len(keys)), *(len(keys) + place for place in places)],
        tuple(
            _symbol_column(lowering, output, is_key=number < len(work.keys))
            for number, output in enumerate((*work.keys, *work.aggregates))
        ),
    )


def _key_value(lowering: Lowering, key: Output, found: Lowered, scope: Scope) -> Value:
    values = FLOAT if found.register.holds == "float" else ORDERED if found.is_ordered else INT
    return Value(key.name, "first", type_of(key.node, scope), values, _is_symbol(lowering, key.node))


def _kernel_aggregates(
    lowering: Lowering, node: Aggregate, scan: Scan
) -> list[tuple[KernelAggregate, Lowered | None]]:
    """Give the kernel aggregates of an aggregate: a mean is a sum and a count, a weighted mean two sums."""

    def one(kind: AggregateKind, lowered: Lowered) -> tuple[KernelAggregate, Lowered]:
        return KernelAggregate(kind, lowering.value(lowered)), lowered

    if node.operand is None:
        return [(KernelAggregate("len"), None)]
    match node.function:
        case "mean":
            values = lowering.unsigned(node.operand)
            return [one("sum", values), one("count", values)]
        case "wavg":
            assert node.weight is not None  # noqa: S101 - wavg has one
            values = lowering.as_numbers(node.operand, lowering.unsigned(node.operand))
            weights = lowering.as_numbers(node.weight, lowering.unsigned(node.weight))
            product = Lowered(lowering.build.multiply(lowering.as_float(values), lowering.as_float(weights)))
            if _may_be_null(lowering, scan, node.operand):
                weights = lowering.where_valid(weights, values)
            return [one("sum", product), one("sum", weights), one("count", product)]
        case "sum":
            return [one("sum", lowering.unsigned(node.operand))]
        case "count" if isinstance(type_of(node.operand, lowering.scope), pl.List):
            return [one("sum", lowering.lower(Unary("is_not_null", node.operand)))]
        case function:
            return [one(_KINDS[function], lowering.stored(node.operand))]


_KINDS: Final[dict[str, AggregateKind]] = {
    "count": "count", "min": "min", "max": "max", "first": "first", "last": "last",
}  # fmt: skip


def _class_of(kernel: KernelAggregate, lowered: Lowered | None) -> str:
    if kernel.register is None or lowered is None or kernel.kind == "count":
        return INT
    return FLOAT if kernel.register.holds == "float" else ORDERED if lowered.is_ordered else INT


def _is_symbol(lowering: Lowering, node: Node | None) -> bool:
    name = _name_of(lowering, node)
    if name is None:
        return False
    kind = lowering.calculated_types.get(name) or lowering.scope.type_of(name)
    return kind.kind == "symbol"


def _name_of(lowering: Lowering, node: Node | None) -> str | None:
    """Give the column that an expression is, stored or calculated."""
    if node is None:
        return None
    if node in lowering.calculated:
        return lowering.calculated[node]
    return node.name if isinstance(node, Column) else None


def _symbol_column(lowering: Lowering, output: Output, *, is_key: bool) -> str | None:
    node = output.node.operand if isinstance(output.node, Aggregate) else output.node
    if isinstance(output.node, Aggregate) and output.node.function not in ("min", "max", "first", "last"):
        return None
    if not _is_symbol(lowering, node):
        return None
    name = _name_of(lowering, node)
    return "" if is_key and name == lowering.scope.schema.part_by else name


def _may_be_null(lowering: Lowering, scan: Scan, node: Node) -> bool:
    """Tell whether an expression may be null where its row is read."""
    names = [name for name in columns_of(node) if name != scan.schema.partition_by]
    if node in lowering.calculated:
        return True
    used = np.unique(scan.pieces[:, PART]).tolist()
    inputs = (scan.parts[part].column(name).kernel_input(0, 0) for part in used for name in names)
    return any(column.validity is not None for column in inputs)


def _is_in_runs(node: Node, scope: Scope) -> bool:
    """Tell whether equal keys lie next to each other among the rows of a symbol and date."""
    schema = scope.schema
    if isinstance(node, Bucket):
        return schema.sort_by is not None and node.operand == Column(schema.sort_by)
    return isinstance(node, Column) and node.name in (schema.part_by, schema.partition_by, schema.sort_by)


# ---- stretches


def _are_mixed(scan: Scan, texts: Sequence[str]) -> bool:
    """Tell whether the parts of some date have different symbols in a column whose codes are used."""
    if not texts or len(scan.parts) < 2:  # noqa: PLR2004 - one part has one dictionary
        return False
    parts, first = np.unique(scan.pieces[:, PART], return_index=True)
    dates = scan.pieces[first, DATE]
    for date in dates[:-1][np.diff(dates) == 0].tolist() if np.all(np.diff(dates) >= 0) else dates.tolist():
        mine = [scan.parts[part] for part in parts[dates == date].tolist()]
        for name in texts:
            symbols = mine[0].column(name).dictionary
            if not all(symbols.equals(other.column(name).dictionary) for other in mine[1:]):
                return True
    return False


def _with_calculated(scan: Scan, work: Groups, lowering: Lowering) -> Scan:
    """Decode what the plan reads into one scratch part, with the calculated columns beside."""
    schema = scan.schema
    nodes = [output.node for output in (*work.keys, *work.aggregates)]
    names = [name for name in columns_of(*nodes, *scan.conditions) if name != schema.partition_by]
    dated = [*names, schema.partition_by]
    frame = read_columns(scan, dated)
    made = (
        calculated_columns(schema, frame, [Output(name, node) for node, name in lowering.calculated.items()])
        if lowering.calculated
        else pl.DataFrame()
    )
    columns = {name: ScratchColumn.of(frame[name], schema.columns[name]) for name in names}
    for name, kind in lowering.calculated_types.items():
        columns[name] = ScratchColumn.of(_narrowed(made[name], kind), kind)
    pieces = scan.pieces.copy()
    length = pieces[:, STOP] - pieces[:, START]
    pieces[:, PART] = 0
    pieces[:, STOP] = np.cumsum(length)
    pieces[:, START] = pieces[:, STOP] - length
    return Scan(schema, [ScratchPart(columns, frame.height)], pieces, scan.symbols, scan.conditions)


def _narrowed(values: pl.Series, kind: ColumnType) -> pl.Series:
    """Give calculated values in the type that kernels take."""
    made = values.cast(kind.polars_type, strict=False)
    if made.null_count() > values.null_count():
        raise UnsupportedQueryError(
            f"a calculated value has more than {DECIMAL_DIGITS} digits, which a {kind} can't hold; "
            "calculate with floats, as in col(...) * 1.0"
        )
    return made


def _stretches(
    source: TableSource, scan: Scan, texts: Sequence[str], buckets: tuple[Bucket, ...], scope: Scope
) -> Iterator[_Stretch]:
    """Cut the pieces where dictionaries or the place of buckets change: between dates, or within one."""
    pieces = scan.pieces
    if not len(pieces):
        return
    if not texts and not buckets:
        yield _Stretch(pieces, None, None, is_cut=False)
        return
    borders = np.flatnonzero(np.diff(pieces[:, DATE])) + 1
    waiting: list[NDArray[np.int64]] = []
    key: tuple[object, ...] | None = None
    held: tuple[int, Segment | None] = (0, None)
    for group in np.split(pieces, borders):
        part = int(group[0, PART])
        segments = _segments(source, scope, buckets, int(group[0, DATE]))
        symbols = tuple(id(scan.parts[part].column(name).dictionary) for name in texts)
        if len(segments) < 2:  # noqa: PLR2004
            segment = segments[0] if segments else None
            found = (symbols, None if segment is None else segment.offsets)
            if waiting and found != key:
                yield _Stretch(np.concatenate(waiting), *held, is_cut=False)
                waiting = []
            key, held = found, (part, segment)
            waiting.append(group)
            continue
        if waiting:
            yield _Stretch(np.concatenate(waiting), *held, is_cut=False)
            waiting, key = [], None
        is_cut = len({segment.utc_offset for segment in segments}) > 1
        for segment in segments:
            narrowed = _within(scan, group, segment)
            if len(narrowed):
                yield _Stretch(narrowed, part, segment, is_cut=is_cut)
    if waiting:
        yield _Stretch(np.concatenate(waiting), *held, is_cut=False)


def _segments(source: TableSource, scope: Scope, buckets: tuple[Bucket, ...], date: int) -> list[Segment]:
    if not buckets:
        return []
    schema = scope.schema
    place = int(np.searchsorted(source.values, date))
    low, high = int(source.sort_min[place]), int(source.sort_max[place])
    return segments_of(buckets, low, high, scope.zone_of(schema.columns[schema.sort_by or ""]))


def _within(scan: Scan, pieces: NDArray[np.int64], segment: Segment) -> NDArray[np.int64]:
    """Narrow pieces to the rows of a segment."""
    narrowed = pieces.copy()
    for part in np.unique(pieces[:, PART]).tolist():
        mine = np.flatnonzero(pieces[:, PART] == part)
        column = scan.parts[part].column(scan.schema.sort_by)
        start, stop = pieces[mine, START], pieces[mine, STOP]
        narrowed[mine, START] = search(column, start, stop, segment.first)
        narrowed[mine, STOP] = search(column, start, stop, segment.last + 1)
    narrowed[:, 5] += narrowed[:, START] - pieces[:, START]
    return narrowed[narrowed[:, STOP] > narrowed[:, START]]


# ---- running


def _run(scan: Scan, lowered: _Lowered, stretch: _Stretch, scope: Scope) -> list[Partial]:
    outputs = run_pieces(scan, lowered.program, list(lowered.lowering.columns), stretch.pieces)
    symbols = _symbols(scan, lowered, stretch)
    return [Partial(lowered.layout, _laid_out(words, lowered, stretch, scope), symbols) for words in outputs]


def _laid_out(
    words: NDArray[np.int64], lowered: _Lowered, stretch: _Stretch, scope: Scope
) -> list[NDArray[np.int64]]:
    """Give the words of the layout for the output of a program."""
    nulls = words[0]
    if lowered.null_bits != list(range(len(lowered.null_bits))) and nulls.any():
        nulls = np.zeros(len(words[0]), dtype=np.int64)
        for bit, place in enumerate(lowered.null_bits):
            nulls |= ((words[0] >> place) & 1) << bit
    result = [nulls, *(words[place] for place in lowered.places[1:])]
    if stretch.is_cut and stretch.segment is not None:
        zone = scope.zone_of(scope.schema.columns[scope.schema.sort_by or ""])
        for number, bucket in enumerate(lowered.layout.keys):
            if zone is not None and bucket.name in _cut_keys(lowered):
                valid = (nulls >> number) & 1 == 0
                result[1 + number] = relabelled(result[1 + number], stretch.segment, zone, valid)
    return result


def _cut_keys(lowered: _Lowered) -> set[str]:
    return {key.name for key in lowered.layout.keys if isinstance(key.dtype, pl.Datetime)}


def _symbols(scan: Scan, lowered: _Lowered, stretch: _Stretch) -> tuple[pl.Series | None, ...]:
    found: list[pl.Series | None] = []
    for name in lowered.symbol_columns:
        if name is None:
            found.append(None)
        elif name == "":
            found.append(scan.symbols)
        else:
            part = stretch.part if stretch.part is not None else int(stretch.pieces[0, PART])
            found.append(scan.parts[part].column(name).dictionary)
    return tuple(found)


def run_pieces(
    scan: Scan, program: Program, columns: Sequence[str], pieces: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Run a program over pieces; give its output in turn, each ``int64[words, rows]``."""
    numbers = pieces[:, PART]
    used, renumbered = np.unique(numbers, return_inverse=True)
    inputs = []
    for number, part in enumerate(used.tolist()):
        mine = pieces[renumbered == number]
        low, high = int(mine[:, START].min()), int(mine[:, STOP].max())
        inputs.append([scan.parts[part].column(name).kernel_input(low, high) for name in columns])
    run = pieces.copy()
    run[:, PART] = renumbered
    words = program.words
    state_words, output_words = program_sizes(words)
    state = np.zeros(state_words, dtype=np.int64)
    rows = int((pieces[:, STOP] - pieces[:, START]).sum())
    capacity = max(16, min(rows + 1, _OUT_ROWS))
    outputs: list[NDArray[np.int64]] = []
    done = False
    while not done:
        out = np.empty((output_words, capacity), dtype=np.int64)
        emitted, done = run_program(words, inputs, run, state, out, _ROW_BUDGET)
        outputs.append(out[:, :emitted])
    return outputs


# ---- joining


def joined(partials: Sequence[Partial]) -> Partial:
    """Put partial rows one after the other, with one list of symbols for each key and aggregate."""
    if len(partials) == 1:
        return partials[0]
    layout = partials[0].layout
    words = [
        np.concatenate([partial.words[word] for partial in partials])
        for word in range(len(partials[0].words))
    ]
    places = symbol_places(layout)
    symbols: list[pl.Series | None] = []
    for number, place in enumerate(places):
        lists = [partial.symbols[number] for partial in partials]
        if place is None or lists[0] is None:
            symbols.append(None)
            continue
        known = [series for series in lists if series is not None]
        if all(series is known[0] for series in known[1:]):
            symbols.append(known[0])
            continue
        merged = pl.concat(known).unique().drop_nulls().sort()
        symbols.append(merged.extend_constant(None, 1))
        words[place] = np.concatenate(
            [
                _mapped(partial.words[place], series, merged)
                for partial, series in zip(partials, known, strict=True)
            ]
        )
    return Partial(layout, words, tuple(symbols))


def symbol_places(layout: Layout) -> list[int | None]:
    """Give the word that holds the codes of each key and aggregate, None where it is no symbol."""
    places: list[int | None] = [
        1 + number if key.is_symbol else None for number, key in enumerate(layout.keys)
    ]
    word = 1 + len(layout.keys)
    for value, slots in zip(layout.aggregates, layout.slots, strict=True):
        places.append(word if value.is_symbol else None)
        word += sum(slot.words for slot in slots)
    return places


def _mapped(codes: NDArray[np.int64], symbols: pl.Series, merged: pl.Series) -> NDArray[np.int64]:
    """Change codes of some symbols to codes of the merged ones; a null symbol comes behind all."""
    if not len(symbols):
        return codes
    targets = np.full(len(symbols), len(merged), dtype=np.int64)
    known = symbols.is_not_null().to_numpy()
    targets[known] = merged.search_sorted(symbols.drop_nulls()).to_numpy()
    inside = (codes >= 0) & (codes < len(symbols))
    return np.where(inside, targets[np.where(inside, codes, 0)], codes)
