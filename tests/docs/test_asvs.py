"""docs/explanation/asvs.yaml has every requirement of ASVS 5.0.0, and names only what is there."""

import re
from collections import Counter
from typing import Any

from docs.site import asvs
from tests.docs.pages import ROOT, anchors, rows
from tests.docs.shown_by import missing_files, missing_tests

PAGE = (ROOT / "docs" / "explanation" / "asvs.md").read_text(encoding="utf-8")
RENDERED = asvs.markdown()
REQUIREMENTS: list[dict[str, Any]] = asvs.assessment()["requirements"]
ITEMS = [item for item in REQUIREMENTS if item["level"] <= 2]
LEVEL_3_ITEMS = [item for item in REQUIREMENTS if item["level"] == 3]

# For each section of the standard the number of its requirements at level 1, and of those that level 2 adds.
# Within a section the ids count from 1, those of level 1 first.
SECTIONS = """
1.1:0+2 1.2:5+4 1.3:2+9 1.4:0+3 1.5:1+1 2.1:1+2 2.2:2+1 2.3:1+3 2.4:0+1 3.2:2+0 3.3:1+3 3.4:2+4 3.5:3+2
3.7:0+2 4.1:1+2 4.2:0+1 4.3:0+2 4.4:1+3 5.1:0+1 5.2:2+1 5.3:2+0 5.4:0+3 6.1:1+2 6.2:8+4 6.3:2+2 6.4:2+2
6.5:0+5 6.6:0+3 6.8:0+4 7.1:0+3 7.2:4+0 7.3:0+2 7.4:2+3 7.5:0+2 7.6:0+2 8.1:1+1 8.2:2+1 8.3:1+0 8.4:0+1
9.1:3+0 9.2:1+3 10.1:0+2 10.2:0+2 10.3:0+4 10.4:5+6 10.5:0+5 10.6:0+2 10.7:0+3 11.1:0+2 11.2:0+3 11.3:2+1
11.4:1+3 11.5:0+1 11.6:0+1 12.1:1+2 12.2:2+0 12.3:0+4 13.1:0+1 13.2:0+5 13.3:0+2 13.4:1+4 14.1:0+2
14.2:1+3 14.3:1+2 15.1:1+2 15.2:1+2 15.3:1+6 16.1:0+1 16.2:0+5 16.3:0+4 16.4:0+3 16.5:0+3 17.1:0+1
17.2:0+4 17.3:0+2
"""

# The requirements that level 3 adds to each section: their ids go on from those above.
LEVEL_3 = """
1.2:1 1.3:1 1.5:1 2.3:1 2.4:1 3.1:1 3.2:1 3.3:1 3.4:2 3.5:3 3.6:1 3.7:3 4.1:2 4.2:4 5.2:3 5.3:1 6.3:4
6.4:2 6.5:3 6.6:1 6.7:2 7.5:1 8.1:2 8.2:1 8.3:2 8.4:1 10.2:1 10.3:1 10.4:5 11.1:2 11.2:2 11.3:2 11.5:1
11.6:1 11.7:2 12.1:2 12.3:1 13.1:3 13.2:1 13.3:2 13.4:2 14.2:4 15.1:2 15.2:2 15.4:4 16.5:1 17.1:1 17.2:4
"""
COUNTED: list[tuple[str, str, str]] = re.findall(r"([\d.]+):(\d+)\+(\d+)", SECTIONS)
READ_ONLY = {"11.5.2"}
"""Requirements that are met and were only read: which generator is called."""
STATES = {"met", "partly", "not met", "left to the operator", "not applicable"}


def expected() -> list[tuple[str, int]]:
    """Return the requirements and their levels."""
    requirements = []
    for section, first, second in COUNTED:
        levels = [1] * int(first) + [2] * int(second)
        requirements += [(f"{section}.{number}", level) for number, level in enumerate(levels, 1)]
    return requirements


def test_every_requirement_of_level_2_is_listed_once_and_no_other() -> None:
    assert [(item["id"], item["level"]) for item in ITEMS] == expected()
    assert len(ITEMS) == 253


def test_every_requirement_of_level_3_is_assessed_once_and_no_other() -> None:
    numbers = dict(re.findall(r"([\d.]+):(\d+)", LEVEL_3))
    before = {section: int(first) + int(second) for section, first, second in COUNTED}
    listed = [
        f"{section}.{before.get(section, 0) + number}"
        for section, count in numbers.items()
        for number in range(1, int(count) + 1)
    ]
    assert [item["id"] for item in LEVEL_3_ITEMS] == listed
    assert len(listed) == 92
    assert len(REQUIREMENTS) == len(ITEMS) + len(LEVEL_3_ITEMS)


def test_each_item_of_level_3_that_is_met_has_a_test_or_a_page() -> None:
    for item in LEVEL_3_ITEMS:
        shown = "tests/" in item.get("shown_by", "") or "](" in item["met_by"]
        assert shown or item["status"] != "met" or item["id"] in READ_ONLY, item


def test_the_table_of_the_states_counts_them() -> None:
    counted = {name: (int(second), int(third)) for name, second, third, _ in rows(PAGE.partition("\n## ")[0])}
    second = Counter(item["status"] for item in ITEMS)
    third = Counter(item["status"] for item in LEVEL_3_ITEMS)
    assert counted == {name: (second[name], third[name]) for name in STATES}


def test_each_item_says_why_and_what_is_met_has_what_meets_it() -> None:
    for item in REQUIREMENTS:
        assert item.keys() - {"shown_by"} == {"id", "level", "asks", "status", "met_by"}, item
        assert all(str(value).strip() for value in item.values()), item
        assert item["status"] in STATES, item
        assert not any("|" in str(value) for value in item.values()), "a cell of the table ends there"


def test_every_gap_is_named_at_the_top() -> None:
    top = PAGE.partition("\n## What is lacking")[2].partition("\n## ")[0]
    named = set(re.findall(r"\b\d+\.\d+\.\d+\b", top)) - {"5.0.0"}
    gaps = {item["id"] for item in ITEMS if item["status"] in ("partly", "not met", "left to the operator")}
    assert named == gaps


def test_the_built_page_has_a_row_for_each_requirement_and_a_heading_for_each_chapter() -> None:
    assert "\n<!-- made: asvs -->\n" in PAGE
    assert re.findall(r"^\| v5\.0\.0-([\d.]+) \|", RENDERED, re.MULTILINE) == [
        item["id"] for item in REQUIREMENTS
    ]
    assert {len(line.strip("|").split("|")) for line in RENDERED.splitlines() if line[:1] == "|"} == {6}
    assert len(re.findall(r"^### ", RENDERED, re.MULTILINE)) == 17


def test_files_and_tests_that_are_named_exist() -> None:
    assert "`tests/" in RENDERED
    assert missing_files(RENDERED) == []
    assert missing_tests(RENDERED) == []


def test_links_of_the_requirements_lead_to_a_file_and_a_heading() -> None:
    links = set(re.findall(r"\]\(([^)\s]+)\)", RENDERED))
    assert len(links) > 40
    for link in links:
        path, _, fragment = link.partition("#")
        target = (asvs.DATA.parent / path).resolve()
        assert target.is_file(), link
        assert not fragment or fragment in anchors(target.read_text("utf-8")), link


def test_a_missing_file_and_a_missing_test_are_noticed() -> None:
    assert missing_files("| `service/authn/none.py` |") == ["service/authn/none.py"]
    assert missing_tests("| `tests/docs/test_asvs.py`: `test_none`, `test_asvs` |") == [
        "test_none",
        "test_asvs",
    ]
    assert missing_tests("| `test_of_no_file` |") == ["test_of_no_file"]
