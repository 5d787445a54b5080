"""Each decision record has a status and mutual links to its amendments, and the list has each record once."""

import re
from collections import Counter
from pathlib import Path

from tests.docs.pages import ROOT
from tests.support.cases import with_each

FOLDER = ROOT / "docs" / "decisions"
MOST_WORDS = 600
MOST_RECORDS = 60
OPPOSITE = {
    "amended by": "amends",
    "amends": "amended by",
    "superseded by": "supersedes",
    "supersedes": "superseded by",
}
"""The relations between two records, and how the other record states each of them."""

_LINK = r"\[\d{4}\]\(\d{4}-[\w-]+\.md\)"
_LINKS = rf"{_LINK}(?:(?:, | and ){_LINK})*"
_STATUS = re.compile(
    rf"Status: (?:accepted|(?:amended|superseded) by {_LINKS})(?:[;.] (?i:amends|supersedes) {_LINKS})*\.?"
)
_RELATION = re.compile(rf"(?i:({'|'.join(OPPOSITE)})) ({_LINKS})")
_LISTED = re.compile(r"^- \[(\d{4}: .+)\]\((\d{4}-[\w-]+\.md)\): (.+)$", re.MULTILINE)


def status_of(text: str) -> str:
    """Return the status of a record, the paragraph below its title, as one line; empty if there is none."""
    match = re.match(r"# \d{4}: \S.*\n\n(Status: (?:.+\n)+)\n", text)
    return " ".join(match[1].split()) if match else ""


def relations(status: str) -> dict[str, set[str]]:
    """Return the files that a status names, by relation."""
    return {
        relation.lower(): set(re.findall(r"\d{4}-[\w-]+\.md", links))
        for relation, links in _RELATION.findall(status)
    }


def shown(status: str) -> str:
    """Return the part of a status that the list shows: without links, and without what the record amends."""
    first = re.split(r"[;.] |\.$", status.removeprefix("Status: "))[0]
    return re.sub(r"\[(\d{4})\]\([^)]*\)", r"\1", first)


def faults_of(name: str, text: str) -> list[str]:
    """Return the faults of one record: title, status and length."""
    problems = []
    if not text.startswith(f"# {name[:4]}: "):
        problems.append(f"{name}: the title does not begin with the number")
    if not _STATUS.fullmatch(status_of(text)):
        problems.append(f"{name}: no valid status below the title")
    if (words := len(text.split())) > MOST_WORDS:
        problems.append(f"{name}: {words} words, at most {MOST_WORDS}")
    return problems


def one_sided(texts: dict[str, str]) -> list[str]:
    """Return the relations that only one of two records states."""
    related = {name: relations(status_of(text)) for name, text in texts.items()}
    return [
        f"{name} {relation} {other}, which does not state that it {OPPOSITE[relation]} {name}"
        for name, stated in related.items()
        for relation, others in stated.items()
        for other in sorted(others)
        if name not in related.get(other, {}).get(OPPOSITE[relation], set())
    ]


def faults(folder: Path) -> list[str]:
    """Return the faults of the records in ``folder``, and of the list in its README.md."""
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("[0-9]*.md"))}
    problems = [fault for name, text in texts.items() for fault in faults_of(name, text)] + one_sided(texts)
    if len(texts) > MOST_RECORDS:
        problems.append(f"{len(texts)} records, at most {MOST_RECORDS}: merge some")
    numbers = Counter(name[:4] for name in texts)
    problems += [
        f"{count} records have the number {number}" for number, count in numbers.items() if count > 1
    ]
    index = (folder / "README.md").read_text("utf-8")
    expected = [
        (text.partition("\n")[0].removeprefix("# "), name, shown(status_of(text)))
        for name, text in texts.items()
    ]
    listed = _LISTED.findall(index)
    linked = re.findall(r"\d{4}-[\w-]+\.md", index)
    if sorted(listed) != sorted(expected) or len(linked) != len(listed):
        different = sorted(set(listed) ^ set(expected)) or [name for name in linked if linked.count(name) > 1]
        problems.append(f"README.md does not list each record once, with title and status: {different}")
    return problems


def test_the_decisions_are_a_set() -> None:
    assert len(list(FOLDER.glob("[0-9]*.md"))) > 40
    assert faults(FOLDER) == []


OLD = "# 0001: Keep it\n\nStatus: amended by [0002](0002-b.md)\n\n## Context\n"
NEW = "# 0002: Change it\n\nStatus: accepted; amends\n[0001](0001-a.md)\n\n## Context\n"
LIST = """# Decisions

- [0001: Keep it](0001-a.md): amended by 0002
- [0002: Change it](0002-b.md): accepted
"""


@with_each(
    ("name", "before", "after", "fault"),
    [
        ("0001-a.md", "0001: Keep", "0003: Keep", "0001-a.md: the title does not begin with the number"),
        ("0001-a.md", "Status: amended", "Amended", "0001-a.md: no valid status below the title"),
        ("0001-a.md", "amended by [0002]", "amended by [2]", "0001-a.md: no valid status below the title"),
        ("0002-b.md", "accepted; amends\n", "accepted; see ", "0002-b.md: no valid status below the title"),
        ("0002-b.md", "; amends\n[0001](0001-a.md)", "", "0001-a.md amended by 0002-b.md, which does not"),
        ("0001-a.md", "amended by [0002](0002-b.md)", "accepted", "0002-b.md amends 0001-a.md, which does"),
        ("0001-a.md", "## Context", "word " * 600, "0001-a.md: 608 words, at most 600"),
        ("README.md", "- [0002: Change it](0002-b.md): accepted\n", "", "README.md does not list each"),
        ("README.md", "# Decisions", "# See [0001](0001-a.md)", "README.md does not list each"),
        ("README.md", "Change it", "Changed", "README.md does not list each"),
        ("README.md", "amended by 0002", "accepted", "README.md does not list each"),
    ],
)
def test_a_fault_of_the_set_is_found(tmp_path: Path, name: str, before: str, after: str, fault: str) -> None:
    for file, text in (("0001-a.md", OLD), ("0002-b.md", NEW), ("README.md", LIST)):
        (tmp_path / file).write_text(text, "utf-8")
    assert faults(tmp_path) == []
    page = tmp_path / name
    assert before in page.read_text("utf-8")
    page.write_text(page.read_text("utf-8").replace(before, after), "utf-8")
    assert any(each.startswith(fault) for each in faults(tmp_path))


def test_more_records_than_a_reader_can_take_in_are_found(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Decisions\n", "utf-8")
    for number in range(MOST_RECORDS + 1):
        record = f"# {number:04}: A\n\nStatus: accepted\n\nText.\n"
        (tmp_path / f"{number:04}-a.md").write_text(record, "utf-8")
    assert "61 records, at most 60: merge some" in faults(tmp_path)
