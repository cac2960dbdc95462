"""Signatures of scalar functions by theme: under which names they are called, which arguments they take, what they give.

A signature turns bound arguments into an expression: mostly a call of the function of the same name in
`planner.expr.functions`, sometimes of another one. `signature` has the vocabulary; `texts`, `mathematics` and `dates` the tables.
"""

from planner.sql.signatures.dates import DATES
from planner.sql.signatures.mathematics import NUMBERS
from planner.sql.signatures.signature import Signature
from planner.sql.signatures.texts import TEXTS

SIGNATURES: dict[str, Signature] = {name: signature for table in (TEXTS, NUMBERS, DATES) for name, signature in table.items()}
"""Every signature under each of its names."""

__all__ = ["SIGNATURES", "Signature"]
