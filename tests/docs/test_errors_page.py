"""docs/reference/errors.md lists every refusal, and no other."""

from __future__ import annotations

from collections.abc import Iterator

from service.errors import Refusal
from tests.docs.pages import ROOT, anchors, between, rows

PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def refusals(root: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for kind in root.__subclasses__():
        if "code" in vars(kind) and kind.__module__ == "service.errors":
            yield kind
        yield from refusals(kind)


def test_the_page_lists_each_refusal_with_its_status_code_and_title() -> None:
    expected = sorted([str(kind.status), kind.code, kind.title] for kind in refusals())
    assert sorted(row[:3] for row in rows(between(PAGE, "errors"))) == expected


def test_the_refusals_are_listed_by_status() -> None:
    statuses = [int(row[0]) for row in rows(between(PAGE, "errors"))]
    assert statuses == sorted(statuses)


def test_each_refusal_has_the_section_that_the_type_of_its_problem_document_names() -> None:
    for kind in refusals():
        assert kind.code.replace("_", "-") in anchors(PAGE)


def test_each_section_tells_what_it_means_and_what_to_do() -> None:
    sections = PAGE.split("\n## ")[1:]
    assert len(sections) == len(list(refusals()))
    for section in sections:
        assert "**What it means.**" in section
        assert "**What to do.**" in section
