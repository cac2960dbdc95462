"""What EXPLAIN says of a query, as lines for people or as JSON for programs.

    stages     what runs: operators with estimated rows, and how rows travel between stages; with ANALYZE what they did
    rules      VERBOSE: every rule that fired, in order, with the plan before and after; how often each was tried, and its time
    logical    VERBOSE: the plan as it was bound, and optimized

The rules are those of one more run of the optimizer, whose times are slightly above those of a run that is not watched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from planner.explain import logical_text
from planner.physical.explain import OperatorText, StageText, edge_line, stage_texts
from planner.rule import OptimizerContext
from planner.rule_trace import Firing
from qengine.query import Query


def explanation_lines(query: Query, verbose: bool = False) -> list[str]:
    """EXPLAIN as lines of text."""
    graph, inline = query.executed()
    lines = list(_verbose_lines(query)) if verbose else []
    if inline:
        lines.append("Runs in this process, without workers")
    for stage in stage_texts(graph):
        lines.append(stage.head)
        lines += [_operator_line(operator) for operator in stage.operators]
        lines += [edge_line(edge) for edge in stage.edges]
    return lines


def explanation_json(query: Query, verbose: bool = False) -> str:
    """EXPLAIN as a JSON object: `inline`, `stages`, and if `verbose` also `logical`, `optimized`, `rules` and `rule_counts`.

    A stage has `stage` (its number), `kind`, `tasks`, `determinism`, `plan` (the tree of operators) and `outputs`; an operator
    has `operator`, `number`, `text`, `inputs`, and `estimated_rows` where it is estimated.
    """
    graph, inline = query.executed()
    found: dict[str, Any] = {"inline": inline, "stages": [_stage_object(stage) for stage in stage_texts(graph)]}
    if verbose:
        optimized, context, trace = query.traced()
        found["logical"] = logical_text(query.bound.plan).splitlines()
        found["optimized"] = logical_text(optimized).splitlines()
        found["rules"] = [_firing_object(firing) for firing in trace.firings]
        found["rule_counts"] = [
            {"rule": name, "tried": count.tried, "fired": count.fired, "seconds": count.seconds}
            for name, count in context.counts.items()
        ]
    return json.dumps(found, ensure_ascii=False, indent=2)


# -------------------------------------------------------------------------------------------------------------- verbose


def _verbose_lines(query: Query) -> Iterator[str]:
    optimized, context, trace = query.traced()
    yield "Logical plan"
    yield from _indented(logical_text(query.bound.plan))
    yield "Rules that fired"
    for number, firing in enumerate(trace.firings, start=1):
        yield f"  {number}. {firing.rule}"
        yield from _firing_lines(firing)
    yield from _count_lines(context)
    yield "Optimized plan"
    yield from _indented(logical_text(optimized))


def _indented(text: str, by: str = "  ") -> Iterator[str]:
    return (by + line for line in text.splitlines())


def _firing_lines(firing: Firing) -> Iterator[str]:
    before, after = firing.texts()
    yield from _indented(before, "       ")
    first, *others = after.splitlines()
    yield f"     ⇒ {first}"
    yield from (f"       {line}" for line in others)


def _count_lines(context: OptimizerContext) -> Iterator[str]:
    counts = context.counts
    total, fired = sum(count.seconds for count in counts.values()), sum(count.fired for count in counts.values())
    yield f"Rules: {fired} fired, {sum(count.tried for count in counts.values())} tried, {_ms(total)}"
    for name, count in sorted(counts.items(), key=lambda item: (-item[1].fired, item[0])):
        if count.fired:
            yield f"  {name}: {count.fired} of {count.tried}, {_ms(count.seconds)}"


def _firing_object(firing: Firing) -> dict[str, Any]:
    before, after = firing.texts()
    return {"rule": firing.rule, "before": before.splitlines(), "after": after.splitlines()}


# --------------------------------------------------------------------------------------------------------------- stages


def _operator_line(operator: OperatorText) -> str:
    estimated = operator.estimated_rows
    note = "" if estimated is None else f"  ({_rows(estimated)})"
    return f"  {'  ' * operator.depth}{operator.text}{note}"


def _stage_object(stage: StageText) -> dict[str, Any]:
    return {
        "stage": stage.number,
        "kind": stage.stage.kind,
        "tasks": stage.stage.tasks,
        "determinism": str(stage.stage.determinism),
        "plan": _tree(stage),
        "outputs": [{"stage": edge.consumer, "how": edge.text} for edge in stage.edges],
    }


def _tree(stage: StageText) -> dict[str, Any]:
    """The operators of a stage as objects that hold those they read."""
    path: list[dict[str, Any]] = []
    for operator in stage.operators:
        found: dict[str, Any] = {"operator": operator.name, "number": operator.number, "text": operator.text}
        if operator.estimated_rows is not None:
            found["estimated_rows"] = operator.estimated_rows
        found["inputs"] = []
        del path[operator.depth :]
        if path:
            path[-1]["inputs"].append(found)
        path.append(found)
    return path[0]


def _rows(estimated: float) -> str:
    return f"~{estimated:,.0f} row{'' if round(estimated) == 1 else 's'}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
