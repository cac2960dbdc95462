"""What befalls a query from outside, and what is said about it: machine_errors.txt holds situations, each followed by the error.

After every one the same session answers and nothing of the query is left. `pytest --rewrite` regenerates the answers.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import qengine
from exec.engine import Engine
from qengine.errors import QEngineError
from tests.cluster.conftest import eventually, folders_of
from tests.cluster.kills import KillSome
from tests.golden.error_text import cases, check, error_text

pytestmark = pytest.mark.cluster

FILE = Path(__file__).with_name("machine_errors.txt")
ROOT = Path(__file__).resolve().parents[2]
LONG = "SELECT count(*) FROM t a JOIN t b ON a.g = b.g JOIN t c ON b.g = c.g WHERE a.v + b.v + c.v = 7"
SHORT = "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY g"
ANSWER = [{"g": group, "n": 4000} for group in range(5)]


def session_on(engine: Engine) -> qengine.Session:
    session = qengine.Session(inline="off", engine=engine)
    rows = range(20_000)
    session.register("t", pa.table({"g": pa.array([row % 5 for row in rows], pa.int64()), "v": pa.array(rows, pa.int64())}))
    return session


def check_usable(session: qengine.Session) -> None:
    assert session.sql(SHORT).collect().to_pylist() == ANSWER
    folder = session._engine.folder
    assert eventually(lambda: not list(folder.glob("q*")))


@pytest.fixture(scope="module")
def session() -> Iterator[qengine.Session]:
    with Engine(2) as engine:
        yield session_on(engine)


def raised(action: Callable[[], object]) -> QEngineError:
    with pytest.raises(QEngineError) as caught:
        action()
    return caught.value


def killed_worker(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    faults = KillSome(lambda attempt: attempt.query == 1 and attempt.stage == 0 and attempt.partition == 0)
    with Engine(2, faults=faults) as engine:
        opened = session_on(engine)
        problem = raised(lambda: opened.sql(LONG).collect())
        assert len(faults.lost) >= 3
        check_usable(opened)
    return problem


WORKER = """\
#!{python}
import errno, os, sys
sys.path.insert(0, {root!r})
from exec import worker
from exec.store import files
real = files._SpillingFile._write_some
def write_some(raw, data):
    if os.path.exists({full!r}):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return real(raw, data)
files._SpillingFile._write_some = write_some
sys.argv[1:] = sys.argv[4:]  # without -P -m exec.worker
worker.main()
"""


def full_disk(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    """Real workers whose write(2) finds no space as long as a file says so."""
    program, full = tmp_path / "worker", tmp_path / "full"
    program.write_text(WORKER.format(python=sys.executable, root=str(ROOT), full=str(full)))
    program.chmod(0o700)
    monkeypatch.setattr("exec.backends.processes.sys.executable", str(program))
    with Engine(2) as engine:
        opened = session_on(engine)
        check_usable(opened)
        full.touch()
        problem = raised(lambda: opened.sql(SHORT).collect())
        full.unlink()
        check_usable(opened)
    monkeypatch.undo()
    return problem


def no_worker(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    monkeypatch.setattr("exec.backends.processes.sys.executable", "/bin/false")
    with Engine(1) as engine:
        opened = session_on(engine)
        problem = raised(lambda: opened.sql(SHORT).collect())
        monkeypatch.undo()
        check_usable(opened)
    return problem


def no_folder(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    def refuse(path: Path, mode: int = 0o777) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", refuse)
    problem = raised(lambda: Engine(1))
    monkeypatch.undo()
    return problem


def cancelled(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    cancel = threading.Event()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    problem = raised(lambda: session.sql(LONG).collect(cancel=cancel))
    timer.join()
    return problem


def cancelled_at_once(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    cancel = threading.Event()
    cancel.set()
    return raised(lambda: session.sql(SHORT).collect(cancel=cancel))


def closed_meanwhile(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    engine = Engine(2)
    opened = session_on(engine)
    timer = threading.Timer(0.3, engine.close)
    timer.start()
    problem = raised(lambda: opened.sql(LONG).collect())
    timer.join()
    return problem


def forked(session: qengine.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QEngineError:
    """A forked child that uses the engine of its parent."""
    said = tmp_path / "said"
    child = os.fork()
    if child == 0:
        try:
            session.sql(SHORT).collect()
        except QEngineError as problem:
            said.write_text(f"{problem.code}\n{problem}")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    code, message = said.read_text().split("\n", 1)
    return QEngineError(message, code=code)


SITUATIONS = {
    "a task kills its worker every time": killed_worker,
    "the disk is full": full_disk,
    "workers cannot be started": no_worker,
    "there is no room for the engine's folder": no_folder,
    "the query is cancelled": cancelled,
    "the query is cancelled before it begins": cancelled_at_once,
    "the engine is closed meanwhile": closed_meanwhile,
    "a forked child": forked,
}


def test_machine_errors(session, monkeypatch, tmp_path, rewrite) -> None:
    answers = []
    for name, happen in SITUATIONS.items():
        problem = happen(session, monkeypatch, tmp_path)
        check_usable(session)
        answers.append((name, re.sub(r"'/[^']*'", "'{path}'", error_text(problem))))
    check(FILE, answers, rewrite)
    assert [name for name, _ in cases(FILE)] == list(SITUATIONS)


@pytest.mark.parametrize("inline", ["off", "auto"])
@pytest.mark.parametrize("delay", [0.0, 0.05, 0.4])
def test_control_c(session, inline, delay):
    """KeyboardInterrupt comes out of collect, once; the workers do not see the signal."""
    asked = qengine.Session(inline=inline, engine=session._engine)
    asked.register("t", session.table("t").collect())
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        asked.sql(LONG).collect()
    timer.join()
    check_usable(session)
    check_usable(asked)


def test_nothing_is_left():
    with Engine(2) as engine:
        check_usable(session_on(engine))
    assert eventually(lambda: engine.folder not in folders_of(os.getpid()))
