"""Whether two results are of the same thing, and what a reader has to know of how they differ."""

from __future__ import annotations

from tpch.errors import TpchError
from tpch.results import EngineRecord, Result

_SAME_MEMORY = 0.05  # part by which the bytes of one machine may differ from start to start


def refuse_different(before: Result, after: Result) -> None:
    """Raise TpchError, saying what differs, unless both are of the same scale factor, machine, threads, limits and queries."""
    differences = [
        f"{name} {old} and {new}"
        for name, old, new in (
            ("scale factor", before.scale_factor, after.scale_factor),
            ("processor", before.machine.processor, after.machine.processor),
            ("cores", before.machine.cores, after.machine.cores),
            ("threads", before.threads, after.threads),
            ("seed", before.seed, after.seed),
        )
        if old != new
    ]
    for name, old_bytes, new_bytes in (
        ("memory of the machine", before.machine.memory, after.machine.memory),
        ("memory limit", before.memory_limit, after.memory_limit),
    ):
        if abs(old_bytes - new_bytes) > _SAME_MEMORY * max(old_bytes, new_bytes):
            differences.append(f"{name} {old_bytes / 2**30:.1f} GiB and {new_bytes / 2**30:.1f} GiB")
    if differences:
        raise TpchError(f"the results cannot be compared: {'; '.join(differences)}")
    if not set(before.queries) & set(after.queries):
        raise TpchError("the results cannot be compared: they have no query in common")


def differences_of(before: Result, after: Result) -> list[str]:
    """What differs and still lets them be compared, in words."""
    notes = []
    for name, old, new in (
        ("system", before.machine.system, after.machine.system),
        ("Python", before.machine.python, after.machine.python),
    ):
        if old != new:
            notes.append(f"{name}: {old} before, {new} after")
    for where, only in (("first", before.queries), ("second", after.queries)):
        other = after.queries if where == "first" else before.queries
        lonely = [f"Q{number}" for number in only if number not in other]
        if lonely:
            notes.append(f"only in the {where} result: {', '.join(lonely)}")
    for where, one, two in (("first", before, after), ("second", after, before)):
        lonely = [f"{record.name} {record.mode}" for record in one.engines if record_of(two, record) is None]
        if lonely:
            notes.append(f"only in the {where} result: {', '.join(lonely)}")
    return notes


def changes_of(old: EngineRecord, new: EngineRecord) -> list[str]:
    """What of an engine itself is not the same in both results."""
    notes = []
    if old.version != new.version:
        notes.append(f"{new.name} {new.mode}: version {old.version} before, {new.version} after")
    for name in sorted(old.settings.keys() | new.settings.keys()):
        values = old.settings.get(name, "none"), new.settings.get(name, "none")
        if values[0] != values[1]:
            notes.append(f"{new.name} {new.mode}: {name} {values[0]} before, {values[1]} after")
    return notes


def record_of(result: Result, like: EngineRecord) -> EngineRecord | None:
    """The record of the same engine and mode."""
    return next((record for record in result.engines if (record.name, record.mode) == (like.name, like.mode)), None)


def modes_of(result: Result) -> str:
    """Every engine with its mode, in words."""
    return ", ".join(f"{record.name} {record.mode}" for record in result.engines) or "nothing"
