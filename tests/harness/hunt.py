"""Look for wrong answers: `python -m tests.harness.hunt --first 0 --count 5000 [--configuration inline] [--reduce]`.

Prints every wrong seed with the reason (with `--reduce` also a smaller query that is wrong as well), and at the end how many
queries ended in which way.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from tests.harness.random_queries import random_query
from tests.harness.switchboard import BY_NAME, CONFIGURATIONS, Switchboard
from tests.harness.tables import worlds
from tests.harness.verdict import Kind, Oracle, judge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--configuration", default="inline", help="a name, or 'rotate' for a different one for each seed")
    parser.add_argument("--reduce", action="store_true")
    parser.add_argument("--show", nargs="*", default=["WRONG"], help="kinds of verdicts to print")
    arguments = parser.parse_args()
    tables = worlds()
    oracle, counts, start = Oracle(tables), Counter[Kind](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Switchboard(tables, Path(folder)) as board:
        for seed in range(arguments.first, arguments.first + arguments.count):
            rotating = CONFIGURATIONS[seed % len(CONFIGURATIONS)]
            configuration = rotating if arguments.configuration == "rotate" else BY_NAME[arguments.configuration]
            query = random_query(seed)
            run = partial(board.run, configuration=configuration, seed=seed)
            verdict = judge(query, run, oracle)
            counts[verdict.kind] += 1
            if verdict.kind.name in arguments.show:
                print(f"--- seed {seed} [{configuration.name}] {verdict.kind.name}: {verdict.detail}\n{query.text}", flush=True)
                if arguments.reduce and verdict.kind is Kind.WRONG:
                    from tests.harness.reduce import reduced

                    smaller = reduced(query, run, oracle)
                    print(f"reduced: {smaller.text}\n  {judge(smaller, run, oracle).detail}", flush=True)
        print(f"killed {board.kills} workers")
    oracle.close()
    for kind, count in counts.most_common():
        print(f"{count:7} {kind.value}")
    print(f"{time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
