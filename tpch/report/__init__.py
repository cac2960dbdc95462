"""A result as something to read: an HTML page, CSV, JSON, Markdown, text. It reads a Result and nothing else.

    figures            every figure, computed once from the Result
    columns            the columns of the table of engines, the settings, what went wrong
    formats, notes     figures as text; what they mean, in words
    page               the HTML page: header, totals, conditions; with style.css
      mode_section     its part about one mode
      charts, markup   bars, ratios and lines of HTML and SVG; elements and escaping
    markdown, terminal, machine_readable (JSON and CSV)
    command            python -m tpch report

Decisions: figures are computed in one place and shown in five, so that no two forms of a report can disagree; each on the
page carries its exact value and a JSON pointer into the JSON form, which a test follows. The charts are boxes, a few lines
of SVG and one stylesheet rather than a plotting library, because a page of some hundred kilobytes without scripts opens
everywhere, prints, and is still legible in ten years. Spread and verdicts are text in the table, not tooltips, which
neither a telephone nor paper has.
"""

from __future__ import annotations

from tpch.report.figures import figures_of
from tpch.report.machine_readable import as_csv, as_json
from tpch.report.markdown import as_markdown
from tpch.report.page import as_html
from tpch.report.terminal import as_text
from tpch.results import Result

_FORMS = {"html": as_html, "csv": as_csv, "json": as_json, "markdown": as_markdown, "text": as_text}
FORMATS = tuple(_FORMS)


def render(result: Result, format: str) -> str:
    """A result in one of FORMATS. Raises KeyError for another."""
    return _FORMS[format](figures_of(result))
