"""Physical plans and stage graphs as stable text: no ids, no addresses, no paths.

`stages_text` prints one block per stage in the order in which they can run, and on every edge the DIR: pattern, partitioning,
order, determinism of its producer, columns with encodings, and evaluation · recovery · update. A stage with several consumers
has a line for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.dir import Dir, Exchange, Hash, OrderKey, Partitioning, Range, SampledRange, Stage, StageGraph
from planner.explain import ColumnNames, assigns_text, expression_text, literal_text, sort_text, window_text
from planner.expr.nodes import ColumnRef
from planner.physical.encodings import Encoding
from planner.physical.explain_placement import placement_texts
from planner.physical.nodes import (
    AggregateExec,
    BoundariesExec,
    ExchangePlan,
    ExchangeSource,
    FilterExec,
    JoinExec,
    LimitExec,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    RuntimeFilterExec,
    SortExec,
    StageOutput,
    TableScan,
    TopNExec,
    UnionExec,
    ValuesScan,
    WindowExec,
)
from planner.schema import Column
from planner.tree import kind_mask, walk


def physical_text(plan: PhysicalPlan) -> str:
    """The plan before it is cut, exchanges included, as an indented tree without a final newline."""
    return "\n".join("  " * line.depth + line.text for line in _operator_texts(plan, ColumnNames(), {}))


@dataclass(frozen=True, slots=True)
class OperatorText:
    """An operator of a stage on one line, how deep it lies below the last one, and why there is an exchange or is none."""

    plan: PhysicalPlan
    depth: int
    text: str
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the operator without its arguments."""
        return type(self.plan).__name__.removesuffix("Exec")

    @property
    def number(self) -> int:
        """The number of the operator in its plan; 0 if it has none."""
        return getattr(self.plan, "number", 0)

    @property
    def estimated_rows(self) -> float | None:
        """How many rows the planner expected of it, all tasks together; None if it did not estimate that."""
        return getattr(self.plan, "estimated_rows", None)


@dataclass(frozen=True, slots=True)
class EdgeText:
    """Where the rows of a stage go: the number of the stage that reads them (None: the result), and how they travel."""

    consumer: int | None
    text: str


@dataclass(frozen=True, slots=True)
class StageText:
    """A stage with its number in the order in which stages can run; its operators from the last on, each before its inputs."""

    stage: Stage
    number: int
    is_result: bool
    operators: tuple[OperatorText, ...]
    edges: tuple[EdgeText, ...]

    @property
    def head(self) -> str:
        tasks = _count(self.stage.tasks, "task")
        result = ", result" if self.is_result else ""
        return f"Stage {self.number} ({self.stage.kind}, {tasks}, {self.stage.determinism}{result})"


def stage_texts(graph: StageGraph) -> tuple[StageText, ...]:
    """The stages of a graph; a column has the same name in all of them."""
    names = ColumnNames()
    numbers = {stage.id: number for number, stage in enumerate(graph.stages, start=1)}
    stages = [_stage_text(graph, stage, numbers, names) for stage in graph.stages]
    return tuple(replace(stage, operators=tuple(_with_reasons(line, names) for line in stage.operators)) for stage in stages)


def _with_reasons(line: OperatorText, names: ColumnNames) -> OperatorText:
    return replace(line, reasons=placement_texts(line.plan, names))


def stages_text(graph: StageGraph) -> str:
    """The stage graph, one block per stage, without a final newline."""
    lines = []
    for stage in stage_texts(graph):
        lines.append(stage.head)
        lines += [f"  {'  ' * operator.depth}{operator.text}" for operator in stage.operators]
        lines += [edge_line(edge) for edge in stage.edges]
    return "\n".join(lines)


def edge_line(edge: EdgeText) -> str:
    return f"  → {'result' if edge.consumer is None else f'stage {edge.consumer}'}: {edge.text}"


def _stage_text(graph: StageGraph, stage: Stage, numbers: dict[int, int], names: ColumnNames) -> StageText:
    labels = {exchange.id: f"stage {numbers[exchange.producer]}" for exchange in graph.inputs(stage.id)}
    operators = tuple(_operator_texts(stage.body, names, labels))
    outputs = sorted(graph.outputs(stage.id), key=lambda exchange: numbers[exchange.consumer])
    edges = [EdgeText(numbers[exchange.consumer], _edge_text(stage, exchange, names)) for exchange in outputs]
    if stage.id == graph.root:
        edges.append(EdgeText(None, _dir_text(stage, stage.output, names)))
    return StageText(stage, numbers[stage.id], stage.id == graph.root, operators, tuple(edges))


def _operator_texts(plan: PhysicalPlan, names: ColumnNames, labels: dict[int, str]) -> Iterator[OperatorText]:
    """Every operator; an input that several exchanges share once in full, with a number."""
    shared = _shared_inputs(plan)
    printed: set[int] = set()
    stack = [(plan, 0)]
    while stack:
        current, depth = stack.pop()
        label = f"Shared input {shared[id(current)]}" if id(current) in shared else ""
        if id(current) in printed:
            yield OperatorText(current, depth, f"{label} [{names.list(current.columns)}]")
            continue
        if label:
            printed.add(id(current))
        text = _operator_text(current, names, labels)
        yield OperatorText(current, depth, f"{label}: {text}" if label else text)
        # What a runtime filter reads is printed below the join that it belongs to.
        inputs = (current.input,) if isinstance(current, RuntimeFilterExec) else current.inputs
        stack.extend((child, depth + 1) for child in reversed(inputs))


def _shared_inputs(plan: PhysicalPlan) -> dict[int, int]:
    """The nodes that are the inputs of several exchanges, numbered from 1 in the order of the text, by identity."""
    exchanges = {id(found): found for found in walk(plan, kind_mask(ExchangePlan)) if isinstance(found, ExchangePlan)}
    seen = Counter(id(exchange.input) for exchange in exchanges.values())
    return {key: number for number, key in enumerate((key for key, count in seen.items() if count > 1), start=1)}


def _operator_text(plan: PhysicalPlan, names: ColumnNames, labels: dict[int, str]) -> str:
    match plan:
        case TableScan():
            text = f"TableScan {plan.table_name} [{names.list(plan.output)}] in {_count(len(plan.partitions), 'part')}"
            if plan.range_key is not None:
                text += f" by ranges of {names.name(plan.range_key)}"
            return text if plan.predicate is None else f"{text} where {expression_text(plan.predicate, names)}"
        case ValuesScan():
            if len(plan.rows) > 3:
                return f"Values [{names.list(plan.schema)}] ({len(plan.rows)} rows)"
            rows = ", ".join("(" + ", ".join(literal_text(value) for value in row) + ")" for row in plan.rows)
            return f"Values [{names.list(plan.schema)}] {rows or '(no rows)'}"
        case ExchangePlan():
            return f"Exchange {plan.pattern}{_keys_text(plan.partitioning, plan.columns, names)}"
        case ExchangeSource():
            return f"Read {plan.pattern} from {labels.get(plan.exchange, 'exchange')} [{names.list(plan.columns)}]"
        case StageOutput():
            return f"Output of a stage [{names.list(plan.columns)}]"
        case FilterExec():
            return f"Filter {expression_text(plan.predicate, names)}"
        case RuntimeFilterExec():
            pairs = zip(plan.keys, plan.source_keys, strict=True)
            return f"RuntimeFilter {', '.join(f'{names.name(a)} in {names.name(b)}' for a, b in pairs)}"
        case ProjectExec():
            return f"Project {assigns_text(plan.assigns, names)}".rstrip()
        case JoinExec():
            return _join_text(plan, names)
        case AggregateExec():
            keys = f" by {names.list(plan.keys)}" if plan.keys else ""
            calls = f": {assigns_text(plan.aggregates, names)}" if plan.aggregates else ""
            return f"Aggregate {plan.mode}{keys}{calls}"
        case WindowExec():
            partition = tuple(ColumnRef(column.dtype, column) for column in plan.partition)
            return f"Window {window_text(partition, plan.order, names)}: {assigns_text(plan.calls, names)}"
        case UnionExec():
            return f"Union [{names.list(plan.schema)}]"
        case SortExec():
            return f"Sort by {sort_text(plan.keys, names)}"
        case TopNExec():
            return f"TopN {_limit_text(plan)} by {sort_text(plan.keys, names)}"
        case MergeExec():
            limit = "" if plan.limit is None else f"{_limit_text(plan)} "
            return f"Merge {limit}by {sort_text(plan.keys, names)}"
        case BoundariesExec():
            return f"Boundaries of {plan.ranges} ranges by {sort_text(plan.keys, names)}"
        case LimitExec():
            return f"Limit {_limit_text(plan)}"
    return type(plan).__name__


def _limit_text(plan: LimitExec | TopNExec | MergeExec) -> str:
    return f"{'all' if plan.limit is None else plan.limit}{f' offset {plan.offset}' if plan.offset else ''}"


def _join_text(join: JoinExec, names: ColumnNames) -> str:
    text = f"HashJoin {join.kind}" if join.left_keys else f"NestedLoopJoin {join.kind}"
    if join.mark is not None:
        text += f" {names.name(join.mark)}"
    terms = [f"{names.name(a)} = {names.name(b)}" for a, b in zip(join.left_keys, join.right_keys, strict=True)]
    if terms:
        text += f" on {' AND '.join(terms)}"
    if join.residual is not None:
        text += f" where {expression_text(join.residual, names)}"
    return f"{text} build {join.build}" if join.left_keys else text


def _edge_text(producer: Stage, exchange: Exchange, names: ColumnNames) -> str:
    feedback = "feedback " if exchange.feedback else ""
    return f"{feedback}{exchange.pattern}, {_dir_text(producer, exchange.dir, names)}"


def _dir_text(producer: Stage, dir: Dir, names: ColumnNames) -> str:
    columns = ", ".join(
        names.name(column) + ("" if encoding is Encoding.PLAIN else f":{encoding}")
        for column, encoding in zip(dir.schema, dir.encodings, strict=True)
    )
    partitioning = f"{dir.partitioning}{_keys_text(dir.partitioning, dir.schema, names)}"
    order = (
        f"ordered by {', '.join(_order_text(key, dir.schema, names) for key in dir.ordering)}" if dir.ordering else "no order"
    )
    bounded = "" if dir.bounded else ", unbounded"
    return f"[{columns}], {partitioning}, {order}, {producer.determinism}, {dir.contract}{bounded}"


def _keys_text(partitioning: Partitioning, columns: tuple[Column, ...], names: ColumnNames) -> str:
    if isinstance(partitioning, SampledRange):
        return f" by {', '.join(_order_text(key, columns, names) for key in partitioning.order)}"
    if not isinstance(partitioning, (Hash, Range)):
        return ""
    by_id = {column.id: column for column in columns}
    return f" by {names.list(by_id[key] for key in partitioning.keys)}"


def _order_text(key: OrderKey, columns: tuple[Column, ...], names: ColumnNames) -> str:
    column = next(column for column in columns if column.id == key.column)
    return names.name(column) + (" desc" if key.descending else "") + (" nulls first" if key.nulls_first else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
