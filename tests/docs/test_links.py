"""Links between the documents lead somewhere, and every page can be found."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")


def links_of(page):
    return [link for link in LINK.findall(page.read_text()) if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page):
    assert [link for link in links_of(page) if not (page.parent / link).exists()] == []


def test_every_page_is_linked_from_another():
    linked = {(page.parent / link).resolve() for page in PAGES for link in links_of(page)}
    start = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "docs" / "index.md"}

    assert [page.name for page in PAGES if page not in linked | start and "decisions" not in page.parts] == []
