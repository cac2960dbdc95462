"""One file per rule in `rules/`: queries for which it fires, near-misses for which it must not, and the optimized plans.

    opt expect=merge_limits
    SELECT ...
    ----
    Limit 3
      Scan o [a]

`catalog=tpch` plans over the TPC-H tables, `disable=a,b` switches rules off so that one can be seen alone. `pytest --rewrite`
regenerates the plans. Every query over the small tables is also run with the rule on and off, and the rows are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from planner.explain import logical_text
from planner.logical.nodes import LogicalPlan
from planner.optimizer import BATCHES, optimize
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import SMALL_CATALOG, SMALL_TABLES, bound, outcome, verifying

FOLDER = Path(__file__).with_name("rules")
RULES = {rule.name: rule for batch in BATCHES for rule in batch.rules}
# Its constants are computed by the executor, which tests of the planner do not have; see tests/unit/optimizer/test_folding.py.
WITHOUT_FILE = {"fold_with_evaluator"}


@dataclass(frozen=True)
class Case:
    options: dict[str, str]
    sql: str
    expected: str

    @property
    def disabled(self) -> frozenset[str]:
        return frozenset(filter(None, self.options.get("disable", "").split(",")))

    @property
    def is_small(self) -> bool:
        return self.options.get("catalog", "small") == "small"

    def optimized(self, disabled: frozenset[str] = frozenset()) -> tuple[LogicalPlan, set[str]]:
        """The optimized plan and the rules that fired."""
        plan, allocator = bound(self.sql, SMALL_CATALOG if self.is_small else tpch_sf1())
        fired: set[str] = set()
        context = verifying(allocator, disabled=disabled, trace=lambda name, _before, _after: fired.add(name))
        return optimize(plan, context), fired

    def text(self, plan: str) -> str:
        options = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"opt {options}\n{self.sql}\n----\n{plan}\n"


def read(path: Path) -> list[Case]:
    cases = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        head, _, plan = block.partition("\n----")
        directive, _, sql = head.partition("\n")
        words = directive.split()
        assert words[0] == "opt", f"{path.name}: {directive!r}"
        cases.append(Case(dict(word.split("=", 1) for word in words[1:]), sql.strip(), plan.strip("\n")))
    return cases


def test_every_rule_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == RULES.keys() - WITHOUT_FILE


@pytest.mark.parametrize("name", sorted(RULES.keys() - WITHOUT_FILE))
def test_rule(name: str, rewrite: bool) -> None:
    path = FOLDER / f"{name}.txt"
    cases = read(path)
    written = []
    for case in cases:
        plan, fired = case.optimized(case.disabled)
        if "expect" in case.options:
            assert case.options["expect"] in fired, f"{name} does not fire for {case.sql}"
        assert case.options.get("expect-not") not in fired, f"{name} fires for {case.sql}"
        written.append(case.text(logical_text(plan)))
    if rewrite:
        path.write_text("\n".join(written), encoding="utf-8")
    else:
        assert "\n".join(written) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", sorted(name for name, rule in RULES.items() if not rule.mandatory and name not in WITHOUT_FILE)
)
def test_rule_preserves_rows(name: str) -> None:
    for case in read(FOLDER / f"{name}.txt"):
        if not case.is_small:
            continue
        plan, _ = bound(case.sql, SMALL_CATALOG)
        with_rule, _ = case.optimized()
        without, _ = case.optimized(frozenset({name}))
        for tables in SMALL_TABLES:
            expected = outcome(plan, tables)
            for optimized in (with_rule, without):
                assert outcome(optimized, tables) == expected or isinstance(expected, str), case.sql


def test_both_sides_are_shown() -> None:
    """Every rule has a case in which it fires; most have one in which it must not."""
    lacking = [path.stem for path in FOLDER.glob("*.txt") if not any("expect" in case.options for case in read(path))]
    assert lacking == []
