"""``portcullis policy report`` of files only."""

from argparse import ArgumentParser
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from service.authz.engine.rules import PolicyError
from service.features.policy_tests import commands_report as policy_report
from service.features.policy_tests import report_gathering as gathering
from service.settings import load
from tests.features.policy_tests.test_report_documents import Page
from tests.support.unstarted import SHIPPED

SECTIONS = [
    *("summary", "model", "openings", "lines", "roles", "findings", "tests", "invariants", "changes"),
    "sign-off",
]


TESTS = gathering.tested  # type: ignore[attr-defined]


@cache
def results(*, coverage: bool) -> Any:
    """Return the result of the shipped tables, which all hold: ``dev.py check`` asks them.

    It measures the ``coverage`` too, which takes ten seconds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.laboratory.tested.run_tables", lambda *_: [])
        return TESTS(load({"PORTCULLIS_CONFIG": ""}), (), coverage=coverage, mutate=False)


@pytest.fixture(autouse=True)
def _run_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    coverage = request.node.get_closest_marker("extended") is not None
    monkeypatch.setattr(gathering, "tested", lambda *_, **__: results(coverage=coverage))


def made(tmp_path: Path, name: str, *arguments: str, **variables: str) -> str:
    parser = ArgumentParser()
    policy_report.add_arguments(parser)
    file = tmp_path / name
    environ = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path / "none"), **variables}
    policy_report.run(parser.parse_args(["--output", str(file), *arguments]), environ)
    assert not (tmp_path / "none").exists()
    return file.read_text("utf-8")


@pytest.mark.extended
def test_a_page_about_the_files_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page(made(tmp_path, "report.html"))
    text = "".join(page.text)

    assert [section["id"] for section in page.all("section")] == SECTIONS
    assert (
        capsys.readouterr().out
        == f"Source: the policy files; there is no installation in {tmp_path / 'none'}\n"
        f"The report is in {tmp_path / 'report.html'}. There are no open points.\n"
    )
    assert SHIPPED.digest in text
    for line in SHIPPED.model_text.splitlines():
        assert line in text
    assert "# @nobody has no row" in text
    lines = {(name, code) for name, codes in pairwise(page.text) for code in codes.splitlines()}
    for rule in SHIPPED.rules:
        assert (rule.object, rule.code) in lines
    assert "Left out, since no installation was read" in text
    assert "Left out: roles are in the database" in text
    assert "Left out: revisions are in the database" in text
    assert "a login starts without one; failed attempts are throttled" in text
    for statement in SHIPPED.invariants.statements:
        assert {statement.name, statement.reason} <= set(page.text)
    assert "not measured: --mutate measures it" in text


@pytest.mark.extended
def test_markdown_says_the_same(tmp_path: Path) -> None:
    by_name = made(tmp_path, "report.md")
    by_option = made(tmp_path, "report.txt", "--format", "markdown")
    with pytest.raises(FileNotFoundError):
        made(tmp_path, "none/report.md")

    titles = [line for line in by_name.splitlines() if line.startswith("## ")]
    assert titles == [line for line in by_option.splitlines() if line.startswith("## ")]
    assert len(titles) == len(SECTIONS)
    assert "| `POST /api/auth/login` | nothing |  | `@anyone` | `@anyone` |" in by_name
    demanded = "| `POST /api/auth/logout/all` | a login | `{}`<br>`@service` | `@login` | `@login` |"
    assert demanded.format("@login") in by_name
    strict = made(tmp_path, "strict.md", PORTCULLIS_POLICY__ASSURANCE="administrators")
    assert demanded.format("@login-within-15m") in strict
    assert "| Shipped demands (policy.assurance) | administrators |" in strict
    assert "| `GET /api/role/list` | `system:role:list`<br>" in by_name
    assert "| `holdsSubtree` | covered | covered | covered |" in by_name


def test_changes_since_a_revision_need_a_database(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="--since needs a database"):
        made(tmp_path, "report.html", "--since", "1")
    assert not (tmp_path / "report.html").exists()


def test_findings_that_nobody_accepted_are_to_look_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = tmp_path / "ours.yaml"
    ours.write_text("accepted:\n  - {finding: public-change, place: GET /x, reason: we say so}\n")

    text = "".join(Page(made(tmp_path, "report.html", "--accepted", str(ours))).text)

    assert "1 finding not accepted" in text
    assert "there is no public-change at GET /x" in text
    assert "To look at: 1 finding not accepted." in capsys.readouterr().out
