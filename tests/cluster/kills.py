"""Fault plans: which workers are killed, and the proof that it hit a running task."""

from __future__ import annotations

import random
from collections.abc import Callable

from exec.attempts import Attempt


class KillSome:
    """Kills the workers of attempts that `choose` picks, and records which attempts really died."""

    def __init__(self, choose: Callable[[Attempt], bool]) -> None:
        self._choose = choose
        self.asked: list[Attempt] = []
        self.lost: list[Attempt] = []

    def on_started(self, attempt: Attempt) -> bool:
        if self._choose(attempt):
            self.asked.append(attempt)
            return True
        return False

    def on_lost(self, attempt: Attempt) -> None:
        self.lost.append(attempt)


class KillOne:
    """Kills one worker for each `arm`, while it computes: at one of the next `among` attempts, drawn by seed.

    A short task may end before the signal arrives. Then the next attempt is tried, until one is proven to have been hit
    (`hit`); two die if both begin in the same moment. A query whose remaining tasks are all that short has to be run
    again; `arm` with fewer `among` attempts helps.
    """

    def __init__(self) -> None:
        self._armed = False
        self._remaining = 0
        self.hit: Attempt | None = None

    def arm(self, seed: int, among: int) -> None:
        self._remaining = random.Random(seed).randrange(among)
        self.hit = None
        self._armed = True

    def on_started(self, attempt: Attempt) -> bool:
        if not self._armed:
            return False
        self._remaining -= 1
        return self._remaining < 0

    def on_lost(self, attempt: Attempt) -> None:
        self._armed = False
        self.hit = attempt
