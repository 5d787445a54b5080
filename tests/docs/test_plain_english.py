"""Wording that readers have to decode is found in prose and code, and subjects of commits are short."""

from __future__ import annotations

import pytest

from tests.docs.commit_subject import fault_of
from tests.docs.plain_english import (
    EXCEPTIONS,
    MOST_WORDS,
    faults_of,
    length_faults,
    newest_section,
    openings_of,
    texts_of,
)


@pytest.mark.parametrize(
    "text",
    [
        "Edit the own profile.",
        "It sends a link to who has\nan address.",
        "Who has no role is refused.",
        "Whoever signs in is refused.",
        "It differs from what was published.",
        "Sessions end, and so do tokens.",
        "The owner is told.",
        "| The key | Of a cluster, all servers |",
        "It works no more.",
        "# Rows that were changed\n# past the service",
    ],
)
def test_wording_to_avoid_is_found(text: str) -> None:
    assert list(faults_of("page.md", 1, text))


@pytest.mark.parametrize(
    "text",
    [
        "Users who have a role edit their profile.",
        "Who may start one?",
        "A wrong reply can't be told apart from others.",
        "An app without a code is unconfirmed, and so is no factor.",
        "```\nwhoever\n```\n`the own`, <!-- is told -->",
    ],
)
def test_plain_wording_and_code_are_not_found(text: str) -> None:
    assert list(faults_of("page.md", 1, text)) == []


def test_a_fault_has_the_line_of_its_sentence() -> None:
    (fault,) = faults_of("page.md", 10, "First.\n\nA sentence.\nThe owner is told.\n")
    assert fault.startswith("page.md:13: 'is told'")


def test_docstrings_comments_and_messages_are_read_and_names_of_events_are_not() -> None:
    source = (
        '"""Doc of the file."""\n# a comment\n# of two lines\n'
        'x = "a message of words"\n_log.info("an event of the log")\n'
    )
    assert sorted(text for _, text in texts_of(source)) == [
        "Doc of the file.",
        "a comment\nof two lines",
        "a message of words",
    ]


def test_a_docstring_of_a_function_begins_with_a_verb() -> None:
    source = 'def f():\n    """Whether it is open."""\ndef g():\n    """Return true if it is open."""\n'
    assert list(openings_of(source)) == [(1, "Whether it is open.")]


def test_a_long_page_is_found_without_its_code() -> None:
    assert list(length_faults("a.md", "word " * MOST_WORDS)) == []
    assert list(length_faults("a.md", "word " * (MOST_WORDS + 1)))
    assert list(length_faults("a.md", f"word\n```\n{'word ' * MOST_WORDS}\n```\n")) == []


def test_only_the_newest_section_of_the_changelog_is_read() -> None:
    text = "# Changes\n\n## [Unreleased]\n\n## [0.2.0]\n\n- One\n\n## [0.1.0]\n\n- Two\n"
    assert newest_section(text) == "[0.2.0]\n\n- One\n\n"


def test_exceptions_are_few_and_have_a_reason() -> None:
    assert len(EXCEPTIONS) <= 40
    assert all(len(reason.split()) > 2 for _, _, reason in EXCEPTIONS)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("fix(reviews): reject decisions of the author\n\nLonger text.", ""),
        ("# comment\nfeat!: drop Python 3.10", ""),
        ("Merge branch 'x' with a very long subject that git has written by itself, longer than allowed", ""),
        (f"docs: {'x' * 67}", "the subject has 73 characters"),
        ("docs: a sentence.", "the subject must have the form"),
        ("Docs: a sentence", "the subject must have the form"),
        ("", "the subject must have the form"),
    ],
)
def test_the_subject_of_a_commit_is_short_and_conventional(message: str, fault: str) -> None:
    assert fault_of(message).startswith(fault)
    assert bool(fault_of(message)) == bool(fault)
