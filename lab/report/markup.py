# SPDX-License-Identifier: BSD-2-Clause
"""The parts of the report's HTML: style sheet, escaped text, tables."""

from __future__ import annotations

import html
from collections.abc import Sequence

STYLE = """
body { font: 16px/1.5 "DejaVu Sans", "Segoe UI", sans-serif; color: #1d1d1d; background: #fff;
  max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.7rem; margin-bottom: .4rem; }
h2 { font-size: 1.25rem; margin-top: 2.6rem; border-bottom: 1px solid #d8d8d8; padding-bottom: .2rem; }
.answer { font-size: 1.2rem; border-left: .35rem solid #14375e;
  padding: .4rem 0 .4rem 1rem; margin: 1.2rem 0; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .88rem; color: #555; padding-bottom: .3rem; }
th, td { padding: .28rem .8rem .28rem 0; text-align: right; border-bottom: 1px solid #e6e6e0;
  vertical-align: top; }
td.words, th.words { text-align: left; } th { font-weight: 600; }
.beyond { color: #8a8a8a; font-style: italic; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .88rem; color: #444; }
code, pre { font: .82rem/1.4 "DejaVu Sans Mono", monospace; background: #f5f5f2; }
code { padding: .05rem .25rem; } pre { padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.small { font-size: .88rem; color: #444; }
"""


def escaped(text: str) -> str:
    return html.escape(text, quote=True)


def table_html(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int] = (0,)
) -> str:
    """Returns a table. Caption and cells are HTML already. `words` are the columns of text, aligned left."""

    def cells(row: Sequence[str]) -> str:
        return "".join(
            f'<td class="words">{cell}</td>' if i in words else f"<td>{cell}</td>"
            for i, cell in enumerate(row)
        )

    head = "".join(
        f'<th class="words">{escaped(name)}</th>' if i in words else f"<th>{escaped(name)}</th>"
        for i, name in enumerate(header)
    )
    body = "\n".join(f"<tr>{cells(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
