"""qengine with an operator that sleeps: an adapter for the benchmark whose workers are this module, not `exec.worker`."""

from __future__ import annotations

import subprocess
import time
from typing import Any

from tpch.engines.protocol import Settings
from tpch.engines.qengine import QEngineAdapter

SECONDS = 0.6


class SlowTopN(QEngineAdapter):
    """Every TopN of every task takes SECONDS longer."""

    def __init__(self, settings: Settings) -> None:
        original = subprocess.Popen

        def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
            return original([__name__ if part == "exec.worker" else part for part in command], **options)

        subprocess.Popen = start  # type: ignore[assignment, misc]
        super().__init__(settings)


def main() -> None:
    from exec import worker
    from exec.lower import plan
    from planner.physical.nodes import PhysicalPlan, TopNExec

    original = plan._lower_node

    def lower(node: PhysicalPlan, *arguments: Any) -> Any:
        if isinstance(node, TopNExec):
            time.sleep(SECONDS)
        return original(node, *arguments)

    plan._lower_node = lower
    worker.main()


if __name__ == "__main__":
    main()
