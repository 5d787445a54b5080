"""The pages about trust name what is there: tests, tables, components."""

import re
from collections import Counter
from itertools import pairwise

from service.records.schema.all_tables import metadata
from tests.docs.pages import ROOT, between, rows
from tests.docs.shown_by import missing_files, missing_tests

FOLLOWERS = (ROOT / "docs/explanation/decisions-beside-services.md").read_text("utf-8")
UNDER_ATTACK = "\n## A follower under attack\n"
THREATS = "".join(
    [
        (ROOT / "docs/explanation/threat-model.md").read_text("utf-8"),
        *FOLLOWERS.partition(UNDER_ATTACK)[1:],
    ]
)
DATA = (ROOT / "docs/reference/data.md").read_text("utf-8")
SECURITY = (ROOT / "docs/reference/security.md").read_text("utf-8")
ACCESSES = (
    "on the network",
    "A user",
    "An administrator",
    "A directory",
    "The database",
    "The session store",
    "A cluster",
    "A node",
    "An archive",
    "A proxy",
    "Another service",
    "A follower",
    "An extension",
)


def tables() -> list[tuple[str, list[str]]]:
    """Return the rows of each table of threats, with the heading above it."""
    sections = re.split(r"^## ", THREATS, flags=re.MULTILINE)[1:]
    return [(section.partition("\n")[0], row) for section in sections for row in rows(section)]


def test_every_access_has_its_threats() -> None:
    headings = [heading for heading, _ in tables()]
    for access in ACCESSES:
        assert sum(access in heading for heading in headings) > 2, access


def test_every_threat_has_a_defence_and_a_test_or_says_that_nothing_stands_against_it() -> None:
    for heading, row in tables():
        assert len(row) == 3, (heading, row)
        threat, defence, shown = row
        assert threat
        assert defence, threat
        assert "tests/" in shown or (shown == "\u2013" and "**" in defence), threat


def test_tests_and_files_that_are_named_exist() -> None:
    for page in (THREATS, DATA, SECURITY):
        assert missing_files(page) == []
        assert missing_tests(page) == []


def test_every_table_of_the_database_has_one_level_of_protection() -> None:
    listed = Counter(name for _, names in rows(between(DATA, "tables")) for name in re.findall(r"\w+", names))
    assert sorted(listed) == sorted(table.name for table in metadata.tables.values())
    assert [name for name, count in listed.items() if count > 1] == []


def test_every_table_with_a_secret_is_of_the_level_secret() -> None:
    levels = {
        name: level for level, names in rows(between(DATA, "tables")) for name in re.findall(r"\w+", names)
    }
    secret = re.compile(r"password_hash|digest|sealed_|token_hash|credential$")
    harmless = {"known_device", "policy_revision", "policy_worker", "log_set_aside"}
    for table in metadata.tables.values():
        if table.name not in harmless and any(secret.match(column.name) for column in table.columns):
            assert levels[table.name] == "secret", table.name


def test_the_components_that_are_looked_at_first_are_dependencies() -> None:
    lock = (ROOT / "uv.lock").read_text("utf-8")
    (sentence,) = re.findall(
        r"^Components with the most to lose.*?\n\n|^Components with the most to lose.*",
        SECURITY,
        re.DOTALL | re.MULTILINE,
    )
    for name in re.findall(r"`([\w-]+)`", sentence):
        assert f'name = "{name}"' in lock, name


def test_files_of_the_list_of_cryptography_use_it() -> None:
    listed = set(re.findall(r"`(service/[\w/]+\.py)`", DATA.partition("## Cryptography")[2]))
    libraries = r"^\s*(?:from|import) (?:cryptography|argon2|joserfc|authlib|fido2|hmac)\b"
    using = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "service").rglob("*.py")
        if re.search(libraries, path.read_text("utf-8"), re.MULTILINE)
    }
    assert using == listed


def test_times_are_said_for_each_severity() -> None:
    times = rows(SECURITY.partition("## Times")[2].partition("\n## ")[0])
    assert [row[0].partition(" ")[0] for row in times] == ["critical", "high", "medium", "low"]
    days = [
        [int(number) for number in re.findall(r"^(\d+) days$", "\n".join(row[1:]), re.MULTILINE)]
        for row in times
    ]
    assert [len(numbers) for numbers in days] == [3, 3, 3, 1]
    # What is worse is never slower.
    assert all(first[place] <= second[place] for first, second in pairwise(days[:-1]) for place in range(3))
