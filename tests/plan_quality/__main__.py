"""`python -m tests.plan_quality [--details] [workload ...]`: our plans beside DuckDB's, as tables on standard output.

A workload is `join-order`, `star-schema` or `tpch-sf1` (any scale factor that has been generated).
"""

from __future__ import annotations

import argparse
import sys

from tests.plan_quality.comparison import compare, table
from tests.plan_quality.workloads import Workload, join_order, star_schema, tpch

_GENERATED = {"join-order": join_order, "star-schema": star_schema}


def workload(name: str) -> Workload:
    """The workload of a name. Raises ArgumentTypeError if there is none, or no data for it."""
    if name in _GENERATED:
        return _GENERATED[name]()
    found = tpch(name.removeprefix("tpch-sf")) if name.startswith("tpch-sf") else None
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no workload {name!r}, or its data has not been generated")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.plan_quality", description=__doc__)
    parser.add_argument("workloads", nargs="*", type=workload, default=None)
    parser.add_argument("--details", action="store_true", help="the rows of every operator")
    parser.add_argument("--queries", help="some queries, as in Q3,Q9")
    options = parser.parse_args()
    for one in options.workloads or [workload("tpch-sf1")]:
        print(f"\n{one.name}\n")
        print(table(compare(one, options.queries.split(",") if options.queries else None), options.details))
    return 0


if __name__ == "__main__":
    sys.exit(main())
