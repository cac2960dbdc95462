"""Reading what a stage has written already: the ways to distribute its rows that need no further stage.

The files of a stage can be read whole by one task (GATHER) or by every task (BROADCAST), each by the task of its own number
(FORWARD), and by the buckets in which they are grouped; buckets of a hash partitioning also several at a time, since the bucket
of a coarser one is a run of them. All other distributions need a stage that writes the rows once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.dir import Hash, Partitioning, Pattern, Range, Replicated, Single
from planner.physical.nodes import ExchangePlan, PhysicalPlan, ProjectExec, StageOutput
from planner.physical.properties import (
    ClusteredDistribution,
    Distribution,
    HashDistribution,
    Offered,
    RangeDistribution,
    ReplicatedDistribution,
    SingleDistribution,
    satisfies,
)


@dataclass(frozen=True, slots=True)
class StartedStage:
    """A stage that delivers the rows of a logical operator, or the partial states of an aggregate (`partial`).

    `rows` and `bytes` are facts if it is complete (`known`), else estimates. Between its tasks the rows lie as `lie` says.
    """

    output: StageOutput
    lie: tuple[Partitioning, ...]
    rows: float
    bytes: float
    known: bool
    partial: bool = False


def is_reading(plan: PhysicalPlan) -> bool:
    """Whether a plan only reads what a stage has written."""
    return isinstance(plan, ExchangePlan) and isinstance(plan.input, StageOutput)


def as_written(output: StageOutput, lie: tuple[Partitioning, ...], buckets: int) -> tuple[ExchangePlan, Offered]:
    """How the output is read if nothing else is required, and what that offers.

    By the buckets of its first layout, but no more than `buckets`; if it has none, file by file, whose rows lie as `lie` says.
    """
    for layout in output.layouts:
        if isinstance(layout, Hash):
            layout = replace(layout, buckets=min(layout.buckets, buckets))
            return ExchangePlan(output, Pattern.HASH, layout), Offered((layout,))
        if isinstance(layout, Range):
            return ExchangePlan(output, Pattern.RANGE, layout), Offered((layout,))
    pattern = Pattern.GATHER if isinstance(lie[0], Single) else Pattern.FORWARD
    return ExchangePlan(output, pattern, lie[0]), Offered(lie)


def read_otherwise(plan: PhysicalPlan, offered: Offered, required: Distribution) -> tuple[PhysicalPlan, Offered] | None:
    """A plan that reads an output of a stage, below projections at most, so that it offers what is required; and its offer.

    None if it does so already, if it does not read an output, or if the files are not grouped in a way that would do.
    """
    projects: list[ProjectExec] = []
    reading = plan
    while isinstance(reading, ProjectExec):
        projects.append(reading)
        reading = reading.input
    if not isinstance(reading, ExchangePlan) or not isinstance(reading.input, StageOutput) or satisfies(offered, required):
        return None
    for pattern, partitioning in _readings(reading.input, required):
        found = Offered((partitioning,))
        for project in reversed(projects):
            found = found.rename(project.passed)
        if isinstance(partitioning, (Single, Replicated)) or satisfies(found, required):
            changed: PhysicalPlan = reading.replace(pattern=pattern, partitioning=partitioning)
            for project in reversed(projects):
                changed = project.replace(input=changed)
            return changed, found
    return None


def _readings(output: StageOutput, required: Distribution) -> Iterator[tuple[Pattern, Partitioning]]:
    """The ways to read an output that may give what is required."""
    match required:
        case SingleDistribution():
            yield Pattern.GATHER, Single()
        case ReplicatedDistribution():
            yield Pattern.BROADCAST, Replicated()
        case HashDistribution(Hash(buckets=buckets)):
            for layout in output.layouts:
                if isinstance(layout, Hash) and layout.buckets % buckets == 0:
                    yield Pattern.HASH, replace(layout, buckets=buckets)
        case RangeDistribution() | ClusteredDistribution():
            for layout in output.layouts:
                if layout is not None:
                    yield Pattern.HASH if isinstance(layout, Hash) else Pattern.RANGE, layout
