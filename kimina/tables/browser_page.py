"""The browser page: one HTML file with a table, its curves, and every sample behind it, to be searched and read.

The file needs no network and opens from a disk. Whatever a model, a data set or Lean wrote is data: it stands compressed
in blocks that no browser executes, is put on the screen as text nodes alone, and a content security policy admits no
script but the page's own, which it names by hash, and no foreign source at all.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kimina.evaluation.result import EvalResult, Rate
from kimina.tables.browser_page_config import differing_keys, value_text
from kimina.tables.browser_page_data import blocks, index_of, letter, packed
from kimina.tables.curves import TrainingCurves
from kimina.tables.page_style import STYLE, document_head
from kimina.tables.wording import UNDEFINED, plural

_PARTS = Path(__file__).parent / "browser_page_parts"
_SCRIPTS = ("text.js", "data.js", "charts.js", "filters.js", "samples.js", "main.js")


@dataclass(frozen=True)
class PageRun:
    """One evaluated model.

    Args:
        id: as the table's declaration names it.
        title: as a reader knows it.
        config: its configuration, dotted key to value; the page shows the keys in which runs differ.
        curves: of the training that made it, None for none.
        pass_curve: (k, pass@k) in ascending order of k.
    """

    id: str
    title: str
    result: EvalResult
    config: Mapping[str, object]
    curves: TrainingCurves | None
    pass_curve: list[tuple[int, Rate]]


@dataclass(frozen=True)
class BrowserPage:
    """What the page shows.

    Args:
        source: where the published values are from; empty for a run of one's own.
        command: the line that makes the page again.
        rows: texts of the table's cells; the first of each is the title of its row.
        statements: Lean statement by problem id; ``informal`` the same in words. A problem without one is shown without.
    """

    title: str
    source: str
    command: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    runs: tuple[PageRun, ...]
    statements: Mapping[str, str]
    informal: Mapping[str, str]


def build_browser_page(page: BrowserPage) -> str:
    """Return the page as text, the same for the same input.

    Responses are embedded whole up to 512 MiB of them; above, only their final Lean blocks are, and the page says so.
    """
    script = _script()
    style = STYLE + "\n" + (_PARTS / "browser.css").read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    parts = [
        *document_head(_text(page.title), policy, style),
        '<body class="browser-page">',
        "<main>",
        _head(page),
        _table(page),
    ]
    data: list[str] = []
    if page.runs:
        whole, packed_blocks = blocks([run.result for run in page.runs])
        parts += [_curves(), _configuration(page), _problems(whole)]
        data = [f'<script type="text/plain" id="index">{packed(index_of(page))}</script>']
        data += [f'<script type="text/plain" id="{name}">{content}</script>' for name, content in packed_blocks]
    parts += [
        "<footer>Written by kimina-lab. Everything shown is within this file.</footer>",
        "</main>",
        *data,
        f"<script>{script}</script>" if page.runs else "",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _script() -> str:
    sources = [(_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return "\n(() => {\n\"use strict\";\n" + "\n".join(sources) + "\n})();\n"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _text(value: str) -> str:
    # Half of a surrogate pair has no UTF-8, so it can't stand in a file.
    return escape(value.encode("utf-8", errors="replace").decode("utf-8"))


def _head(page: BrowserPage) -> str:
    source = f'<p class="muted">{_text(page.source)}</p>' if page.source else ""
    command = f'<code class="command">{_text(page.command)}</code>' if page.command else ""
    return f"<header>\n<h1>{_text(page.title)}</h1>\n{source}\n{command}\n</header>"


def _table(page: BrowserPage) -> str:
    heads = "".join(f"<th scope=\"col\">{_text(column)}</th>" for column in page.columns)
    body = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>{"".join(_cell(cell) for cell in row[1:])}</tr>' for row in page.rows
    )
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in page.notes)
    return f"""<section>
<h2>Results</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Results"><table id="results">
<thead><tr>{heads}</tr></thead>
<tbody>{body}</tbody></table></div>
{notes}
</section>"""


def _cell(text: str) -> str:
    return f'<td class="muted">{UNDEFINED}</td>' if text in ("", UNDEFINED) else f"<td>{_text(text)}</td>"


def _curves() -> str:
    return """<section id="curves">
<h2>Curves</h2>
<div class="runs" role="group" aria-label="Runs shown"></div>
<div class="charts"></div>
</section>"""


def _configuration(page: BrowserPage) -> str:
    if len(page.runs) < 2:
        return ""
    keys = differing_keys([run.config for run in page.runs])
    if not keys:
        return '<section id="configuration">\n<h2>Configuration</h2>\n<p>The configurations of these runs don’t differ.</p>\n</section>'
    heads = "".join(
        f'<th scope="col"><span class="letter s{index % 6}">{letter(index)}</span> {_text(run.title)}</th>'
        for index, run in enumerate(page.runs)
    )
    body = "".join(
        f'<tr><th scope="row"><code>{_text(key)}</code></th>'
        + "".join(_cell(value_text(run.config[key]) if key in run.config else "") for run in page.runs)
        + "</tr>"
        for key in keys
    )
    return f"""<section id="configuration">
<h2>Configuration</h2>
<p class="note">{plural(len(keys), "key")} in which these runs differ; {UNDEFINED} where a run has no such key.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Configuration"><table class="configuration">
<thead><tr><th></th>{heads}</tr></thead>
<tbody>{body}</tbody></table></div>
</section>"""


def _problems(whole: bool) -> str:
    left_out = "" if whole else '<p class="note" id="shortened">Too much text for one file: of each response only the final Lean block is kept.</p>'
    return f"""<section id="problems">
<h2>Problems</h2>
<noscript><p>The curves and the problems need JavaScript; the page sends nothing anywhere.</p></noscript>
<p id="trouble" class="lower" role="alert" hidden></p>
{left_out}
<div class="runs" role="group" aria-label="Runs shown"></div>
<form id="filters" autocomplete="off"></form>
<p id="count" role="status"></p>
<div class="split">
<div class="list"><div class="list-head" aria-hidden="true"></div><ul id="list" aria-label="Problems"></ul></div>
<article id="problem" tabindex="-1" aria-live="off"></article>
</div>
</section>"""
