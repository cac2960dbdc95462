"""The page in headless Chromium: no message on the console, and no part of it sticks out of the screen, however narrow."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.tpch.results_examples import corner_results
from tpch.report import render

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = (360, 1440)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(200),
]

# Each page in a frame of each width, since a window of a browser has a least width and starting one takes seconds.
MEASURE = """
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
window.onload = () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument, root = page.documentElement;
    for (const details of page.querySelectorAll("details")) details.open = true;
    const inside = (element) => element.closest(".scroll, .skip, pre");
    const sticking = [...page.body.querySelectorAll("*")].filter((element) =>
      !inside(element) && element.getBoundingClientRect().right > root.clientWidth + 0.5);
    const labels = [...page.querySelectorAll(".plot")].flatMap((plot) => {
      const boxes = [...plot.querySelectorAll(".label")].map((label) => label.getBoundingClientRect());
      return boxes.filter((a, i) => boxes.some((b, j) => i < j && overlap(a, b)));
    });
    const wrapped = [...page.querySelectorAll(".tick, .y, .x")].filter((tick) =>
      tick.getBoundingClientRect().height > 1.8 * parseFloat(getComputedStyle(tick).fontSize));
    const clipped = [...page.querySelectorAll(".bars .value")].filter((value) =>
      value.getBoundingClientRect().right > value.closest(".card").getBoundingClientRect().right);
    return {
      name: frame.title,
      width: root.clientWidth,
      overflow: root.scrollWidth - root.clientWidth,
      sticking: sticking.map((element) => element.outerHTML.slice(0, 80)),
      tables: page.querySelectorAll(".scroll > table").length,
      hidden: [...page.querySelectorAll("table")].filter((table) => !table.getBoundingClientRect().height).length,
      lines: [...page.querySelectorAll("path.line")].filter((line) => line.getTotalLength() > 0).length,
      labels: labels.length,
      clipped: clipped.length,
      wrapped: wrapped.length,
    };
  });
  document.body.replaceChildren(Object.assign(document.createElement("pre"), {textContent: JSON.stringify(found)}));
};
"""


def browse(page: Path, profile: Path) -> tuple[str, list[str]]:
    """The document after its scripts have run, and the messages on the console."""
    assert CHROMIUM is not None
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr")
    harness = ("--allow-file-access-from-files", f"--user-data-dir={profile}", "--window-size=1440,900", "--dump-dom")
    command = [CHROMIUM, *options, *harness, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of every corner, by its name."""
    return {name: render(result, "html") for name, result in corner_results().items()}


@pytest.fixture(scope="module")
def measured(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, object]], list[str]]:
    """What there is to see of every page in every width, and the console."""
    folder = tmp_path_factory.mktemp("pages")
    frames = []
    for number, (name, page) in enumerate(pages.items()):
        (folder / f"{number}.html").write_text(page, encoding="utf-8")
        frames += [f'<iframe title="{name}" src="{number}.html" width="{width}" height="800"></iframe>' for width in WIDTHS]
    harness = folder / "harness.html"
    harness.write_text(f"<!DOCTYPE html><style>iframe{{border:0}}</style>{''.join(frames)}<script>{MEASURE}</script>")
    document, console = browse(harness, folder / "profile")
    (found,) = re.findall(r"<pre>(.*?)</pre>", document, re.DOTALL)
    return json.loads(html.unescape(found)), console


def test_the_console_is_empty(measured):
    assert measured[1] == []


def test_the_console_would_show_an_error(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<script>nothing.here</script>")
    assert "ReferenceError" in "".join(browse(page, tmp_path / "profile")[1])


def test_every_page_was_measured_in_every_width(measured, pages):
    assert [(page["name"], page["width"]) for page in measured[0]] == [(name, width) for name in pages for width in WIDTHS]


def test_no_page_scrolls_sideways(measured):
    assert [page for page in measured[0] if page["overflow"] or page["sticking"]] == []


def test_no_text_covers_another_or_is_cut(measured):
    assert [page for page in measured[0] if page["labels"] or page["clipped"] or page["wrapped"]] == []


def test_all_tables_and_lines_are_there(measured, pages):
    for page in measured[0]:
        text = pages[page["name"]]
        assert page["tables"] == text.count("<table")
        assert page["hidden"] == 0
        if page["name"] != "no time at all":
            assert page["lines"] == text.count('class="line ')
