"""What a session says about how its queries run, and the names of that in SQL.

    SET inline = off                                   whether small queries may run in this process
    SET plan_cache = off                               whether a text that comes again is planned again
    SET optimizer.disable = 'merge_limits, ...'        rules and steps of the optimizer to leave out

A change holds for the queries that are made after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planner.errors import error, nearest
from planner.optimizer import BATCHES
from planner.physical.context import OPTIONAL_STEPS

INLINE = ("auto", "off")
PLAN_CACHE = ("auto", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session says about how its queries run."""

    inline: str = "auto"
    disabled_rules: frozenset[str] = frozenset()
    plan_cache: str = "auto"


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the settings as text: `change` gives other settings or raises, `value` says what it is now."""

    description: str
    change: Callable[[Settings, str], Settings]
    value: Callable[[Settings], str]


def set_inline(settings: Settings, value: str) -> Settings:
    return replace(settings, inline=choice("inline", value, INLINE))


def set_plan_cache(settings: Settings, value: str) -> Settings:
    return replace(settings, plan_cache=choice("plan_cache", value, PLAN_CACHE))


def set_disabled_rules(settings: Settings, value: str) -> Settings:
    """Raises UNKNOWN_RULE for a name that is not that of an optional rule or step."""
    names = frozenset(name for part in value.split(",") if (name := part.strip()))
    optional = optional_rules()
    for name in sorted(names - optional):
        raise error("UNKNOWN_RULE", name=name, nearest=nearest(name, optional))
    return replace(settings, disabled_rules=names)


SETTINGS: Mapping[str, Setting] = {
    "inline": Setting(
        "whether a query that is proven to be small runs in this process: auto or off", set_inline, lambda now: now.inline
    ),
    "optimizer.disable": Setting(
        "rules and steps of the optimizer that are left out, with commas between them",
        set_disabled_rules,
        lambda now: ", ".join(sorted(now.disabled_rules)),
    ),
    "plan_cache": Setting(
        "whether a text that comes again has its plan already: auto or off", set_plan_cache, lambda now: now.plan_cache
    ),
}
"""By the name in SQL."""


def setting(name: str) -> Setting:
    """The setting of a name, in any case. Raises UNKNOWN_SETTING."""
    found = SETTINGS.get(name.lower())
    if found is None:
        raise error("UNKNOWN_SETTING", name=name, nearest=nearest(name, SETTINGS))
    return found


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of the allowed words, in lower case. Raises INVALID_SETTING."""
    folded = value.lower() if isinstance(value, str) else ""
    if folded not in allowed:
        words = ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}"
        raise error("INVALID_SETTING", name=name, expected=words, given=value)
    return folded


def optional_rules() -> frozenset[str]:
    """The names of the rules and steps of planning that can be left out."""
    rules = (rule for batch in BATCHES for rule in batch.rules if not rule.mandatory)
    return frozenset((*(rule.name for rule in rules), *OPTIONAL_STEPS))
