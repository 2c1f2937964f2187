"""A report: the page of the dashboard and the data of some studies in one file of HTML.

The file asks for nothing else: scripts and styles are in it, and its content security policy allows
these alone, each by its hash. The data is JSON in a block that is not run, in which no text can end
the block: `<` is written as an escape.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from priorband.dashboard.module_bundle import bundled
from priorband.dashboard.report_data import report_data
from priorband.dashboard.static_files import FOLDER
from priorband.dashboard.studies import Studies
from priorband.errors import ArgumentError

ENTRY = "report-main.js"
STYLES = ("vendor/uPlot.css", "base.css", "app.css", "charts.css", "print.css")
EARLY = "theme-early.js"


def report_page(wheres: Sequence[str]) -> str:
    """The report of some studies.

    Args:
        wheres: studies, or folders with studies in them.

    Raises:
        PriorbandError: if there is no study, or one cannot be read.
    """
    studies = Studies(wheres)
    try:
        if not studies.feeds():
            raise ArgumentError(f"There is no study in {', '.join(wheres)}.")
        return page_of(report_data(studies))
    finally:
        studies.close()


def page_of(data: Mapping[str, Any], folder: Path = FOLDER) -> str:
    """The page that shows some data."""
    early = (folder / EARLY).read_text("utf-8")
    script = bundled(ENTRY, lambda name: (folder / name).read_text("utf-8"))
    style = "\n".join((folder / name).read_text("utf-8") for name in STYLES)
    icon = b64encode((folder / "icon.svg").read_bytes()).decode()
    names = ", ".join(study["summary"]["name"] for study in data["studies"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(_policy(script, early, style))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="priorband {escape(str(data["version"]))}">
<title>{escape(names)} – priorband</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
<script>{early}</script>
</head>
<body>
<div id="app"></div>
<noscript>The report needs JavaScript. All of it is in this file.</noscript>
<script id="report-data" type="application/json">{embedded(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def embedded(data: Any) -> str:
    r"""Data as JSON that cannot end the block of a script, whatever texts it has.

    >>> embedded({"name": "</script>&\u2028"})
    '{"name":"\\u003c/script\\u003e\\u0026\\u2028"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: U+2028 is escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str, early: str, style: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(early)} {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
