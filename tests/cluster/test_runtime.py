"""Stage graphs on real worker processes: results, reuse, cancelling, calls."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pyarrow as pa
import pytest

from exec.engine import Engine
from exec.metrics import Progress
from planner.dir import LawBroken, StageGraph
from planner.errors import DataError, InternalError, QEngineError, QueryCancelled
from tests.cluster.conftest import eventually, folders_of, workers_of
from tests.cluster.graphs import constants, count_pairs, forwarded, shuffle, values

pytestmark = pytest.mark.cluster

SLOW = 60_000
"""count_pairs of so many rows takes longer than any test waits."""


def rows(tables: list[pa.Table]) -> list[tuple]:
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


EXPECTED = [(i, f"value {i}") for i in range(1000)]


def test_constants(engine: Engine) -> None:
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_no_rows_have_the_right_types(engine: Engine) -> None:
    (table,) = engine.execute(constants(0))
    assert table.schema.types == [pa.int64(), pa.large_string()] and table.num_rows == 0
    (table,) = engine.execute(shuffle(0))
    assert table.schema.types == [pa.int64(), pa.large_string()] and table.num_rows == 0


def test_forward_keeps_the_order(engine: Engine) -> None:
    assert rows(engine.execute(forwarded())) == EXPECTED


@pytest.mark.parametrize("buckets", [1, 4, 16])
def test_hash_and_gather(engine: Engine, buckets: int) -> None:
    assert sorted(rows(engine.execute(shuffle(buckets=buckets)))) == EXPECTED


def test_broadcast_and_several_result_partitions(engine: Engine) -> None:
    tables = engine.execute(count_pairs(100, tasks=5))
    assert [rows([table]) for table in tables] == [[(10_000,)]] * 5


def test_results_outlive_their_files_and_their_engine() -> None:
    with Engine(1) as engine:
        (table,) = engine.execute(constants(1000))
        assert not list(engine.folder.glob("q*"))
    assert rows([table]) == EXPECTED


def test_workers_are_reused(engine: Engine) -> None:
    engine.execute(constants())
    before = engine.statistics.workers_started
    for _ in range(5):
        engine.execute(shuffle())
    assert engine.statistics.workers_started == before


def test_many_threads_share_an_engine(engine: Engine) -> None:
    failures = []

    def work() -> None:
        try:
            for _ in range(5):
                assert sorted(rows(engine.execute(shuffle()))) == EXPECTED
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_progress_is_reported_in_the_calling_thread(engine: Engine) -> None:
    seen: list[tuple[Progress, int]] = []
    engine.execute(count_pairs(2000), progress=lambda progress: seen.append((progress, threading.get_ident())))
    assert seen and all(thread == threading.get_ident() for _, thread in seen)
    assert all(progress.tasks == 6 and 0 < progress.tasks_done <= 6 for progress, _ in seen)


def test_a_failing_progress_display_leaves_nothing_behind(engine: Engine) -> None:
    def explode(progress: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.execute(count_pairs(2000), progress=explode)
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_cancel_event(engine: Engine) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(QueryCancelled):
        engine.execute(count_pairs(SLOW), cancel=cancel)
    assert time.monotonic() - started < 3
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_control_c_cancels_and_the_engine_goes_on(engine: Engine) -> None:
    engine.execute(constants())
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine.execute(count_pairs(SLOW))
    assert time.monotonic() - started < 3
    assert not list(engine.folder.glob("q*"))
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_an_error_in_a_task_reaches_the_caller(engine: Engine) -> None:
    graph = constants()
    (stage,) = graph.stages
    broken = StageGraph((type(stage)(0, 1, stage.body, count_pairs(1).stages[2].output, stage.determinism),), (), root=0)
    with pytest.raises(QEngineError):
        engine.execute(broken)
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_a_graph_that_breaks_a_law_does_not_run(engine: Engine) -> None:
    graph = shuffle()
    with pytest.raises(LawBroken):
        engine.execute(StageGraph(graph.stages[::-1], graph.exchanges, root=2))


def test_inline_gives_the_same(engine: Engine) -> None:
    stage = constants(1000).stages[0]
    assert rows([engine.execute_inline(stage.body, stage.output)]) == EXPECTED


def test_calls(engine: Engine) -> None:
    assert engine.call("exec.task:query_folder", 7) == "q7"
    with pytest.raises(InternalError):
        engine.call("os:getcwd")
    with pytest.raises(InternalError):
        engine.call("exec.task:query_folder")


def test_a_call_that_hangs_is_ended(engine: Engine) -> None:
    started = time.monotonic()
    with pytest.raises(DataError) as caught:
        engine.call("exec.worker:time.sleep", 60, timeout=0.3, subject="some file")
    assert caught.value.code == "FILE_UNREADABLE" and "some file" in str(caught.value)
    assert time.monotonic() - started < 3
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_a_call_that_kills_its_worker_is_an_error_of_the_file(engine: Engine) -> None:
    with pytest.raises(DataError) as caught:
        engine.call("exec.worker:os._exit", 7, subject="some file")
    assert caught.value.code == "FILE_UNREADABLE" and "crashed" in str(caught.value)
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_closing_ends_queries_and_workers() -> None:
    engine = Engine(2)
    engine.execute(constants())
    failures: list[BaseException] = []

    def work() -> None:
        try:
            engine.execute(count_pairs(SLOW))
        except BaseException as problem:
            failures.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    engine.close()
    thread.join(5)
    assert [getattr(failure, "code", failure) for failure in failures] == ["SESSION_CLOSED"]
    assert not engine.folder.exists()
    with pytest.raises(QEngineError) as caught:
        engine.execute(constants())
    assert caught.value.code == "SESSION_CLOSED"
    engine.close()


def test_a_dropped_engine_closes_itself() -> None:
    engine = Engine(1)
    engine.execute(constants())
    folder = engine.folder
    del engine
    assert eventually(lambda: not folder.exists())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_is_refused_and_harms_nobody(engine: Engine) -> None:
    engine.execute(constants())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            engine.execute(constants())
        except QEngineError as problem:
            status = 0 if problem.code == "FORKED" else 2
        finally:
            engine.close()
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.folder.exists()
    assert rows(engine.execute(constants(1000))) == EXPECTED


def test_workers_start_once_and_one_is_spare(engine: Engine) -> None:
    engine.execute(constants())
    assert eventually(lambda: len(set(workers_of(os.getpid()))) == 3)
    assert engine.folder in folders_of(os.getpid())
    assert (engine.folder.stat().st_mode & 0o777) == 0o700


def test_large_stages_fit_through_the_pipe(engine: Engine) -> None:
    graph = constants(20_000)
    assert len(graph.stages[0].body.rows) == len(values(20_000).rows)  # type: ignore[attr-defined]
    assert rows(engine.execute(graph)) == [(i, f"value {i}") for i in range(20_000)]


def test_workers_that_do_not_read_do_not_stop_the_driver() -> None:
    """Their pipes are full; a query that waits for them can be cancelled, and the engine goes on when they do."""
    with Engine(2) as engine:
        engine.execute(constants(10))
        stopped = workers_of(os.getpid())
        for worker in stopped:
            os.kill(worker, signal.SIGSTOP)
        cancel = threading.Event()
        threading.Timer(0.3, cancel.set).start()
        with pytest.raises(QueryCancelled):
            engine.execute(constants(300_000), cancel=cancel)
        assert eventually(lambda: engine.statistics.workers_lost == 1)
        for worker in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)
        assert rows(engine.execute(constants(1000))) == EXPECTED
