"""Constants folded by the executor, and the tables of functions that belong together."""

from __future__ import annotations

import datetime
from decimal import Decimal

from exec.lower.evaluate import ConstantEvaluator
from exec.lower.functions import KERNELS
from planner import dtypes as t
from planner.errors import QEngineError
from planner.expr.functions import FUNCTIONS
from planner.expr.nodes import Call, Cast, Literal
from planner.expr.values import Interval


def integer(value: int) -> Literal:
    return Literal(t.INTEGER, value)


def test_every_function_has_a_kernel_and_every_kernel_a_function():
    assert set(KERNELS) == set(FUNCTIONS)


def test_values_have_the_python_types_of_literals():
    month = Literal(t.INTERVAL, Interval(months=1))
    day = Literal(t.DATE, datetime.date(2024, 1, 31))
    found = ConstantEvaluator().evaluate(
        [
            Call(t.INTEGER, "add", (integer(1), integer(2))),
            Call(t.TIMESTAMP, "add_interval", (day, month)),
            Cast(t.decimal(5, 2), Literal(t.VARCHAR, "1.5")),
            Call(t.VARCHAR, "upper", (Literal(t.VARCHAR, "a"),)),
            Literal(t.DOUBLE, None),
        ]
    )
    assert found == [3, datetime.datetime(2024, 2, 29), Decimal("1.50"), "A", None]
    assert str(found[2]) == "1.50"


def test_an_error_takes_the_place_of_its_value_alone():
    broken = Call(t.INTEGER, "integer_divide", (integer(1), integer(0)))
    found = ConstantEvaluator().evaluate([integer(7), broken, integer(8)])
    assert (found[0], found[2]) == (7, 8)
    assert isinstance(found[1], QEngineError)
    assert found[1].code == "DIVISION_BY_ZERO"
