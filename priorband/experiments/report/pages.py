"""Write a report as an HTML page, as Markdown, and as CSV and SVG files."""

import csv
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section

PAGE, TEXT, LIST = "report.html", "report.md", "files.txt"

_STYLE = """
:root { --ink: #222; --faint: #667; --line: #d5d8dd; --shade: #f5f6f8; }
body { font: 16px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; color: var(--ink);
  background: #fff; margin: 0 auto; max-width: 76rem; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; }
h2 { font-size: 1.25rem; margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
p { max-width: 46rem; }
nav ol { columns: 2; max-width: 60rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .8rem 0 .4rem; max-width: 60rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .7rem .28rem 0; }
thead th { border-bottom: 2px solid var(--ink); }
tbody tr { border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--shade); }
td small { color: var(--faint); display: block; white-space: nowrap; }
td { white-space: nowrap; }
figure { margin: 1.2rem 0 2rem; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .88rem; max-width: 46rem; }
@media print { body { max-width: none; padding: 0; font-size: 11px; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } nav { display: none; } }
"""


def write_pages(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write a report to a folder as HTML and Markdown, its tables as CSV and its figures as SVG.

    Returns the path of the HTML page, which needs none of the other files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {PAGE: as_html(title, sections), TEXT: as_markdown(title, sections)}
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                texts[f"{block.name}.svg"] = block.svg
            elif block.numbers:
                texts[f"{block.name}.csv"] = as_csv(block)
    _remove_old_files(folder, set(texts))
    for name, text in texts.items():
        _write_text(folder / name, text)
    _write_text(folder / LIST, "".join(f"{name}\n" for name in sorted(texts)))
    return folder / PAGE


def _remove_old_files(folder: Path, names: set[str]) -> None:
    """Remove the files of an earlier report that this one does not write."""
    path = folder / LIST
    written = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    for name in written:
        if name and name not in names and Path(name).name == name:
            (folder / name).unlink(missing_ok=True)


def _write_text(path: Path, text: str) -> Path:
    """Write a file, escaping bytes of users' file names that are not valid text."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    return path


def as_html(title: str, sections: Sequence[Section]) -> str:
    """The report as an HTML page without scripts, fonts or other external files."""
    links = "".join(
        f'<li><a href="#s{number}">{escape(section.title)}</a></li>'
        for number, section in enumerate(sections, 1)
    )
    bodies = "".join(_section(number, section) for number, section in enumerate(sections, 1))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<nav><ol>{links}</ol></nav>\n<main>\n{bodies}</main>\n"
        "</body>\n</html>\n"
    )


def _section(number: int, section: Section) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in section.paragraphs)
    blocks = "".join(
        _figure(block) if isinstance(block, Figure) else _table(block) for block in section.blocks
    )
    return f'<section id="s{number}"><h2>{escape(section.title)}</h2>\n{text}{blocks}</section>\n'


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    return f"<figure>\n{figure.svg}\n{caption}</figure>\n"


def _table(table: ReportTable) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in table.heads)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
    return (
        f'<div class="wide"><table>\n<caption>{escape(table.caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    below = f"<small>{escape(cell.below)}</small>" if cell.below else ""
    return f"<td>{text}{below}</td>"


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """The report as Markdown, which links to the SVG files of the figures."""
    parts = [f"# {_escaped(title)}"]
    for section in sections:
        parts += [f"## {_escaped(section.title)}", *map(_escaped, section.paragraphs)]
        for block in section.blocks:
            caption = _escaped(block.caption)
            if isinstance(block, Figure):
                parts.append(f"![{caption}]({block.name}.svg)\n\n*{caption}*")
            else:
                parts += [f"**{caption}**", _markdown_table(block)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: ReportTable) -> str:
    lines = [[*map(_escaped, table.heads)], ["---"] * len(table.heads)]
    lines += [[_markdown_cell(cell) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    text = f"**{text}**" if cell.bold and text else text
    return f"{text}; {_escaped(cell.below)}" if cell.below else text


def _escaped(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    flat = " ".join(text.split())
    for sign in "\\`*_[]<>|&~$":
        flat = flat.replace(sign, f"\\{sign}")
    return flat


def as_csv(table: ReportTable) -> str:
    """The content of a table's CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.fields)
    writer.writerows(table.numbers)
    return text.getvalue()
