"""The engine's folder and its files: locks, leftovers, and what happens when shared memory or the disk is full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exec.store import files, folder
from exec.store.files import OutputFile
from exec.store.folder import EngineFolder, remove_if_unlocked, sweep
from planner.errors import ResourceError


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for /dev/shm, beside a stand-in for the temporary folder."""
    disk = tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setattr(folder.tempfile, "gettempdir", lambda: str(disk))
    path = tmp_path / "shm"
    path.mkdir()
    return path


def test_two_folders_private_and_locked(shared: Path) -> None:
    opened = EngineFolder(shared, minimum=0)
    assert [path.parent.name for path in opened.paths] == ["shm", "disk"]
    for path in opened.paths:
        assert path.stat().st_mode & 0o777 == 0o700
        remove_if_unlocked(path)
        assert path.exists(), "a locked folder was removed"
    opened.remove()
    assert not any(path.exists() for path in opened.paths)


@pytest.mark.parametrize("minimum", [0, 1 << 60])
def test_without_shared_memory_the_disk_serves(shared: Path, minimum: int) -> None:
    opened = EngineFolder(shared / "absent" if minimum == 0 else shared, minimum)
    assert opened.primary == opened.spill and opened.primary.parent.name == "disk"
    opened.remove()


def test_a_folder_that_cannot_be_made_leaves_nothing_of_the_other(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder.tempfile, "gettempdir", lambda: str(shared.parent / "missing"))
    with pytest.raises(OSError):
        EngineFolder(shared, minimum=0)
    assert list(shared.iterdir()) == []


def test_a_dead_engines_folder_is_swept_and_a_live_ones_is_not(shared: Path) -> None:
    script = (
        "import os; from pathlib import Path; from exec.store.folder import EngineFolder; "
        f"EngineFolder(Path({str(shared)!r}), 0); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    (dead,) = shared.iterdir()
    (dead / "q1").mkdir()
    (dead / "q1" / "file").write_bytes(b"x")
    live = EngineFolder(shared, 0)
    assert list(shared.iterdir()) == [live.primary]
    live.remove()


def test_foreign_things_are_not_swept(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    name = f"qengine-{os.getuid()}-1-"
    (shared / f"{name}link").symlink_to(victim)
    (shared / f"{name}young").mkdir()  # no lock file yet: it may be in the making
    (shared / f"{name}file").write_text("")
    old = shared / f"{name}old"
    old.mkdir()
    os.utime(old, (time.time() - 1000,) * 2)
    sweep(shared)
    assert sorted(path.name.removeprefix(name) for path in shared.iterdir()) == ["file", "link", "young"]
    assert victim.exists()


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    with OutputFile([tmp_path / "q1"], "out") as output:
        output.sink.write(b"abc")
        assert [path.name for path in (tmp_path / "q1").iterdir()] == ["out.new"]
        path, size = output.commit()
    assert (Path(path).name, size, Path(path).read_bytes()) == ("out", 3, b"abc")


def test_a_file_that_is_not_committed_disappears(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), OutputFile([tmp_path / "q1"], "out") as output:
        output.sink.write(b"abc")
        raise ZeroDivisionError
    assert not list((tmp_path / "q1").iterdir())


class Full:
    """Folders that take so many bytes; write(2) then fails as on a full file system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: dict[str, int]) -> None:
        real = files._SpillingFile._write_some

        def write_some(raw: files._SpillingFile, data: memoryview) -> int:
            name = raw.path.parent.parent.name
            left = room.get(name, 1 << 60)
            if left == 0:
                raise OSError(errno.ENOSPC, "full")
            done = real(raw, data[:left])
            room[name] = left - done
            return done

        monkeypatch.setattr(files._SpillingFile, "_write_some", write_some)


def test_a_file_moves_to_disk_when_shared_memory_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RESERVE", 0)
    Full(monkeypatch, {"shm": 700_000})
    for name in ("shm", "disk"):
        (tmp_path / name).mkdir()
    content = os.urandom(3_000_000)
    with OutputFile([tmp_path / "shm" / "q1", tmp_path / "disk" / "q1"], "out") as output:
        for start in range(0, len(content), 300_000):
            output.sink.write(content[start : start + 300_000])
        path, size = output.commit()
    assert Path(path).parent.parent.name == "disk" and size == len(content)
    assert Path(path).read_bytes() == content
    assert not list((tmp_path / "shm" / "q1").iterdir())


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RESERVE", 0)
    Full(monkeypatch, {"shm": 700_000, "disk": 900_000})
    for name in ("shm", "disk"):
        (tmp_path / name).mkdir()
    with (
        pytest.raises(ResourceError) as caught,
        OutputFile([tmp_path / "shm" / "q1", tmp_path / "disk" / "q1"], "out") as output,
    ):
        output.sink.write(os.urandom(3_000_000))
    assert caught.value.code == "DISK_FULL"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_nearly_full_shared_memory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RESERVE", 1 << 60)
    for name in ("shm", "disk"):
        (tmp_path / name).mkdir()
    with OutputFile([tmp_path / "shm" / "q1", tmp_path / "disk" / "q1"], "out") as output:
        output.sink.write(b"abc")
        path, _ = output.commit()
    assert Path(path).parent.parent.name == "disk"
