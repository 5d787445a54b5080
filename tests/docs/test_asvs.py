"""docs/explanation/asvs.md has every requirement of ASVS 5.0.0, and names only what is there."""

from __future__ import annotations

import re
from collections import Counter

from tests.docs.pages import ROOT
from tests.docs.shown_by import missing_files, missing_tests

PAGE = (ROOT / "docs" / "explanation" / "asvs.md").read_text(encoding="utf-8")

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
"""What is met by what was only read: which generator is called."""
STATES = {"met", "partly", "not met", "left to the operator", "not applicable"}

# By requirement: level, paraphrase, status, met by, shown by.
ITEMS = [
    (match[1], [cell.strip() for cell in match[2].split("|")])
    for match in re.finditer(r"^\| v5\.0\.0-([\d.]+) \| (.*) \|$", PAGE, re.MULTILINE)
]


def expected() -> list[tuple[str, str]]:
    """Return the requirements and their levels."""
    requirements = []
    for section, first, second in COUNTED:
        levels = ["1"] * int(first) + ["2"] * int(second)
        requirements += [(f"{section}.{number}", level) for number, level in enumerate(levels, 1)]
    return requirements


def test_every_requirement_of_level_2_is_listed_once_and_no_other() -> None:
    assert [(number, cells[0]) for number, cells in ITEMS] == expected()
    assert len(ITEMS) == 253


def level_3() -> list[list[str]]:
    """Return the cells of the requirements of level 3: id, paraphrase, status, met by, shown by."""
    part = PAGE.partition("\n## Level 3\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if re.match(r"\| \d", line)
    ]


def test_every_requirement_of_level_3_is_assessed_once_and_no_other() -> None:
    numbers = dict(re.findall(r"([\d.]+):(\d+)", LEVEL_3))
    before = {section: int(first) + int(second) for section, first, second in COUNTED}
    listed = [
        f"{section}.{before.get(section, 0) + number}"
        for section, count in numbers.items()
        for number in range(1, int(count) + 1)
    ]
    assert [cells[0] for cells in level_3()] == listed
    assert len(listed) == 92


def test_each_item_of_level_3_says_why_and_what_is_met_has_a_test_or_a_page() -> None:
    for cells in level_3():
        assert len(cells) == 5, cells
        assert all(cells), cells
        assert cells[2] in STATES, cells
        shown = "tests/" in cells[4] or "](" in cells[3]
        assert shown or cells[2] != "met" or cells[0] in READ_ONLY, cells


def test_the_table_of_the_states_counts_them() -> None:
    counted = re.findall(r"^\| ([a-z ]+) \| (\d+) \|", PAGE, re.MULTILINE)
    assert {name: int(count) for name, count in counted} == Counter(cells[2] for _, cells in ITEMS)


def test_each_item_says_why_and_what_is_met_has_what_meets_it() -> None:
    for number, cells in ITEMS:
        assert len(cells) == 5, number
        assert all(cells), number


def test_every_gap_is_named_at_the_top() -> None:
    top = PAGE.partition("\n## What is lacking")[2].partition("\n## 1. ")[0]
    named = set(re.findall(r"\b\d+\.\d+\.\d+\b", top)) - {"5.0.0"}
    gaps = {number for number, cells in ITEMS if cells[2] in ("partly", "not met", "left to the operator")}
    assert named == gaps


def test_files_and_tests_that_are_named_exist() -> None:
    assert missing_files(PAGE) == []
    assert missing_tests(PAGE) == []


def test_a_missing_file_and_a_missing_test_are_noticed() -> None:
    assert missing_files("| `service/authn/none.py` |") == ["service/authn/none.py"]
    assert missing_tests("| `tests/docs/test_asvs.py`: `test_none`, `test_asvs` |") == [
        "test_none",
        "test_asvs",
    ]
    assert missing_tests("| `test_of_no_file` |") == ["test_of_no_file"]
