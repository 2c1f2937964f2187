"""Parse a page as a browser does, and check that it is self-contained."""

import re
from collections import Counter
from html.parser import HTMLParser

ODD = "<script>alert(1)</script>&\"'|*_`~$ &amp; a"
"""Text with special characters of HTML, Markdown and CSV."""
VOID = {"meta", "br", "hr", "img", "link", "input"}
REFERENCE = re.compile(r"url\(#([^)]*)\)")


class Page(HTMLParser):
    """The parsed content of a page; fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, attribute: str) -> list[str]:
        return [value for name, value in self.attributes if name == attribute]


def check_needs_nothing(page: Page) -> None:
    """Check for no scripts, no external files, unique ids and valid references."""
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert page.all("src") == [] and page.all("onload") == []
    ids = page.all("id")
    assert len(set(ids)) == len(ids)
    links = [*page.all("href"), *page.all("xlink:href")]
    assert all(link.startswith("#") for link in links)
    named = [link[1:] for link in links]
    for name, value in page.attributes:
        named += REFERENCE.findall(value)
        assert name.startswith("xmlns") or "http" not in value
    assert set(named) <= set(ids)
