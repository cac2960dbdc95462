"""What EXPLAIN says of a query, as lines for people or as JSON for programs.

    stages     what runs: operators with estimated rows, and how rows travel between stages; with ANALYZE what they did
    rules      VERBOSE: every rule that fired, in order, with the plan before and after; how often each was tried, and its time
    logical    VERBOSE: the plan as it was bound, and optimized

The rules are those of one more run of the optimizer, whose times are slightly above those of a run that is not watched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from exec.metrics import Replanned
from planner.explain import logical_text
from planner.physical.explain import OperatorText, StageText, edge_line, stage_texts
from planner.rule import JoinSearch, OptimizerContext
from planner.rule_trace import Firing
from qengine.query import Query
from qengine.query_profile import (
    OperatorProfile,
    Profile,
    StageProfile,
    bytes_text,
    ms_text,
    rows_text,
    summary_lines,
)


def explanation_lines(query: Query, verbose: bool = False, profile: Profile | None = None) -> list[str]:
    """EXPLAIN as lines of text; with the `profile` of a run of the query, EXPLAIN ANALYZE."""
    graph, inline = query.executed() if profile is None else (profile.graph, profile.inline)
    lines = list(_verbose_lines(query)) if verbose else []
    if profile is not None:
        lines += summary_lines(profile)
    elif inline:
        lines.append("runs in this process, without workers")
    ran = iter(profile.operators if profile is not None else ())
    for stage in stage_texts(graph):
        did = profile.stage(stage.number) if profile is not None and not inline else None
        lines.append(stage.head if did is None else f"{stage.head}: {_stage_note(did)}")
        for operator in stage.operators:
            lines.append(_operator_line(operator, next(ran, None)))
            lines += [f"  {'  ' * operator.depth}  · {reason}" for reason in operator.reasons]
        lines += [edge_line(edge) for edge in stage.edges]
    return lines


def explanation_json(query: Query, verbose: bool = False, profile: Profile | None = None) -> str:
    """EXPLAIN as a JSON object: `inline`, `stages`, and if `verbose` also `logical`, `optimized`, `rules`,
    `rule_counts` and `join_searches`.

    A stage has `stage` (its number), `kind`, `tasks`, `determinism`, `plan` (the tree of operators) and `outputs`; an operator
    has `operator`, `number`, `text`, `inputs`, `estimated_rows` where it is estimated, and `reasons` why there is an exchange or
    why there is none.

    With the `profile` of a run there are also the profile's `steps`, `idle_seconds`, `critical_path` and `replans`; a stage has
    what is in a StageProfile, and an operator that was observed `rows`, `bytes`, `seconds` and `q_error`. Times are in seconds.
    """
    graph, inline = query.executed() if profile is None else (profile.graph, profile.inline)
    ran = iter(profile.operators if profile is not None else ())
    stages = []
    for stage in stage_texts(graph):
        stages.append(_stage_object(stage, ran))
        if profile is not None and not inline:
            stages[-1] |= _stage_actuals(profile.stage(stage.number))
    found: dict[str, Any] = {"inline": inline, "stages": stages}
    if profile is not None:
        found |= {
            "steps": dict(profile.steps),
            "idle_seconds": profile.idle_seconds,
            "critical_path": list(profile.critical_path),
            "replans": [_replan_object(replan) for replan in profile.replans],
        }
    if verbose:
        optimized, context, trace = query.traced()
        found["logical"] = logical_text(query.bound.plan).splitlines()
        found["optimized"] = logical_text(optimized).splitlines()
        found["rules"] = [_firing_object(firing) for firing in trace.firings]
        found["rule_counts"] = [
            {"rule": name, "tried": count.tried, "fired": count.fired, "seconds": count.seconds}
            for name, count in context.counts.items()
        ]
        found["join_searches"] = [asdict(search) for search in context.join_searches]
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
    yield from map(_search_line, context.join_searches)
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
    yield f"Rules: {fired} fired, {sum(count.tried for count in counts.values())} tried, {ms_text(total)}"
    for name, count in sorted(counts.items(), key=lambda item: (-item[1].fired, item[0])):
        if count.fired:
            yield f"  {name}: {count.fired} of {count.tried}, {ms_text(count.seconds)}"


def _search_line(search: JoinSearch) -> str:
    found = f"cost {search.cost:,.0f}, as written {search.written_cost:,.0f}" if search.changed else "as written is best"
    pairs = f"{search.pairs:,} pair{'' if search.pairs == 1 else 's'} by {search.method}"
    return f"Join order of {search.relations} relations: {pairs} in {ms_text(search.seconds)}, {found}"


def _firing_object(firing: Firing) -> dict[str, Any]:
    before, after = firing.texts()
    return {"rule": firing.rule, "before": before.splitlines(), "after": after.splitlines()}


# --------------------------------------------------------------------------------------------------------------- stages


def _operator_line(operator: OperatorText, did: OperatorProfile | None) -> str:
    notes = []
    if did is not None and did.rows is not None:
        notes.append(rows_text(did.rows))
    if operator.estimated_rows is not None:
        estimated = rows_text(operator.estimated_rows)
        notes.append(f"~{estimated}" if not notes else f"~{estimated} estimated")
    if did is not None and did.rows is not None and did.bytes is not None and did.seconds is not None:
        notes += [] if did.q_error is None else [f"q {did.q_error:.2f}"]
        notes += [bytes_text(did.bytes), ms_text(did.seconds)]
    line = f"  {'  ' * operator.depth}{operator.text}"
    return f"{line}  ({', '.join(notes)})" if notes else line


def _stage_note(did: StageProfile) -> str:
    attempts = f", {did.attempts} attempts" if did.attempts != did.tasks else ""
    tasks = f"tasks {ms_text(did.seconds)}, CPU {ms_text(did.cpu_seconds)}"
    return f"{rows_text(did.rows)}, {bytes_text(did.bytes)}{attempts}, {tasks}, {ms_text(did.begin)} to {ms_text(did.end)}"


def _stage_object(stage: StageText, ran: Iterator[OperatorProfile]) -> dict[str, Any]:
    return {
        "stage": stage.number,
        "kind": stage.stage.kind,
        "tasks": stage.stage.tasks,
        "determinism": str(stage.stage.determinism),
        "plan": _tree(stage, ran),
        "outputs": [{"stage": edge.consumer, "how": edge.text} for edge in stage.edges],
    }


def _stage_actuals(did: StageProfile) -> dict[str, Any]:
    names = ("attempts", "rows", "bytes", "table_rows", "seconds", "cpu_seconds", "begin", "end")
    return {name: getattr(did, name) for name in names}


def _replan_object(replan: Replanned) -> dict[str, Any]:
    surprises = [surprise._asdict() for surprise in replan.surprises]
    return {"version": replan.version, "surprises": surprises, "changes": list(replan.changes), "seconds": replan.seconds}


def _tree(stage: StageText, ran: Iterator[OperatorProfile]) -> dict[str, Any]:
    """The operators of a stage as objects that hold those they read."""
    path: list[dict[str, Any]] = []
    for operator in stage.operators:
        found: dict[str, Any] = {"operator": operator.name, "number": operator.number, "text": operator.text}
        if operator.estimated_rows is not None:
            found["estimated_rows"] = operator.estimated_rows
        did = next(ran, None)
        if did is not None and did.rows is not None:
            found |= {"rows": did.rows, "bytes": did.bytes, "seconds": did.seconds}
            found |= {} if did.q_error is None else {"q_error": did.q_error}
        if operator.reasons:
            found["reasons"] = list(operator.reasons)
        found["inputs"] = []
        del path[operator.depth :]
        if path:
            path[-1]["inputs"].append(found)
        path.append(found)
    return path[0]
