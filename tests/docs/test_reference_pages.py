"""Pages of the reference, and those about sessions and operating, list what there is and nothing else."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest

from docs.site import made, pages
from service.app import check_routes
from service.audit import redaction
from service.errors import ConflictRule, Refusal
from service.features.metrics.families import OF_ALL, OF_WORKERS
from service.features.operations.checks import checks_for
from service.kernel import permission_catalogue
from service.kernel.account_acts import OBJECTS
from service.kernel.feature import declared
from service.records.schema.logs import operation_log
from service.settings import Auth, load, table
from service.web.messages.cookies import CSRF_HEADER, Cookies
from service.web.observability.exposition import Family
from tests.docs.pages import ROOT, anchors, between, rows
from tests.support.cases import with_each
from tests.support.unstarted import SHIPPED

LABEL = re.compile(r"(?:^|, )`?(\w+)(?:`|$)")
REFERENCE = ROOT / "docs" / "reference"


def complete(name: str) -> str:
    """Return a page of the reference as the site has it."""
    return pages.complete((REFERENCE / name).read_text(encoding="utf-8"), made.parts())


@with_each("command", ["serve", "backup", "policy explain", "audit verify"])
def test_every_command_is_shown_with_its_arguments(command: str) -> None:
    section = complete("command-line.md").partition(f"## portcullis {command}\n")[2].partition("\n## ")[0]
    assert "| `--data DIR` |" in section


def test_a_page_that_names_a_part_that_nothing_makes_is_refused() -> None:
    with pytest.raises(pages.SiteError, match="nothing makes tables"):
        pages.complete("# A page\n\n<!-- made: tables -->\n", {})


@pytest.mark.parametrize(("table", "families"), [("of-workers", OF_WORKERS), ("of-all", OF_ALL)])
def test_every_metric_is_shown_with_its_type_its_labels_and_what_it_is(
    table: str, families: Mapping[str, Family]
) -> None:
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    listed = rows(between(page, table))
    shown = {name: (kind, set(LABEL.findall(labels)), text) for name, kind, labels, text in listed}
    assert shown == {
        name: (family.kind, set(family.labels), family.help) for name, family in families.items()
    }


ERRORS = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def refusals(root: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for kind in root.__subclasses__():
        if "code" in vars(kind) and kind.__module__ == "service.errors":
            yield kind
        yield from refusals(kind)


def test_the_page_of_errors_lists_each_refusal_with_its_status_code_and_title() -> None:
    expected = sorted([str(kind.status), kind.code, kind.title] for kind in refusals())
    assert sorted(row[:3] for row in rows(between(ERRORS, "errors"))) == expected


def test_the_refusals_are_listed_by_status() -> None:
    statuses = [int(row[0]) for row in rows(between(ERRORS, "errors"))]
    assert statuses == sorted(statuses)


def test_each_refusal_has_the_section_that_the_type_of_its_problem_document_names() -> None:
    for kind in refusals():
        assert kind.code.replace("_", "-") in anchors(ERRORS)


def test_each_section_tells_what_it_means_and_what_to_do() -> None:
    sections = ERRORS.partition("\n## Sentences\n")[0].split("\n## ")[1:]
    assert len(sections) == len(list(refusals()))
    for section in sections:
        assert "**What it means.**" in section
        assert "**What to do.**" in section


GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")


def test_each_word_of_the_glossary_is_defined_once() -> None:
    words = Counter(word.lower() for word in re.findall(r"^\| \*\*([^*]+)\*\* \|", GLOSSARY, re.MULTILINE))
    assert words["layer"] == words["object"] == 1
    assert [word for word, times in words.items() if times > 1] == []


LOGS = (ROOT / "docs" / "reference" / "logs.md").read_text(encoding="utf-8")
RECORDED = LOGS.partition("## Recorded data")[2].partition("\n## ")[0]


def test_every_event_of_the_login_log_is_on_the_page() -> None:
    modules = (
        module
        for folder in ("authn", "administration", "features")
        for module in (ROOT / "service" / folder).rglob("*.py")
    )
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    named = re.findall(r'(?:\.own|\.by_other|_enter_own|_enter|self\._saved)\(\s*"(\w+)"', text)
    events = {*named, "refresh", "reuse"}
    table = RECORDED.partition("| `event` |")[2].partition("\n\n")[0]
    first_cells = "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))

    assert len(events) == 18
    assert set(re.findall(r"`(\w+)`", first_cells)) == events


def test_every_column_that_says_something_of_an_operation_is_on_the_page() -> None:
    made = {"id", "create_time", "event_id", "chain_key", "chain_number", "chain_hash"}
    columns = {column.name for column in operation_log.columns} - made

    assert [name for name in sorted(columns) if f"`{name}`" not in RECORDED] == []


def test_every_name_that_is_withheld_is_on_the_page() -> None:
    for name in (*redaction.SIGNS, *redaction.NAMES):
        assert f"`{name}`" in RECORDED, name


def test_the_page_of_permissions_shows_every_code_of_the_catalogue() -> None:
    table = complete("permissions.md").partition("\n## ")[0]
    listed = [row[0].strip("`") for row in rows(table)]
    assert listed == [code.code for page in permission_catalogue.CATALOGUE for code in page.permissions]


def test_the_page_of_features_has_a_row_for_each_that_says_whether_it_has_a_switch() -> None:
    page = (REFERENCE / "features.md").read_text(encoding="utf-8")
    listed = rows(page.partition("\n## All features\n")[2])
    shown = {name.strip("`"): switch.startswith("yes") for name, switch, *_ in listed}
    assert shown == {feature.name: feature.off for feature in declared()}


SETTINGS = complete("settings.md")


def test_every_setting_and_each_of_its_variables_is_on_the_page() -> None:
    for row in table():
        for name in (f"`{row.name}`", *(f"`{variable}`" for variable in row.variables)):
            assert name in SETTINGS


def test_the_example_file_of_the_page_is_one_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("portcullis.toml").write_text(SETTINGS.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    settings = load({"JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"})
    assert (settings.server.port, settings.auth.max_devices) == (9000, 3)
    assert settings.auth.jwt_issuer == "portcullis"


RULES = (ROOT / "docs" / "reference" / "rules.md").read_text("utf-8")


def named(table: str) -> list[str]:
    """Return what the first column of a table names."""
    return re.findall(r"^\| `([^`]+)`", between(RULES, table), flags=re.MULTILINE)


def test_all_that_is_closed_whatever_is_held_is_listed() -> None:
    assert named("closed") == sorted(OBJECTS - {rule.object for rule in SHIPPED.accounts})


def test_every_rule_that_keeps_records_whole_is_listed() -> None:
    assert named("rules") == list(get_args(ConflictRule))


def test_every_conflict_of_the_service_names_its_rule() -> None:
    unnamed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "service").rglob("*.py")
        if "Conflict(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Conflict"
        if "rule" not in {keyword.arg for keyword in node.keywords}
    ]
    assert unnamed == []


def test_every_route_that_nobody_is_asked_about_is_listed() -> None:
    rows = re.findall(r"^\| `([^`]+)`(, and all below)? \|", between(RULES, "outside"), flags=re.MULTILINE)
    served = {f"{operation.method} {operation.template}" for operation in check_routes(SHIPPED).outside}

    listed = {name for name, below in rows}
    covered = {
        route
        for route in served
        for name, below in rows
        if route == name or (below and route.startswith(f"{name}/"))
    }
    assert covered == served
    assert listed <= served


SESSIONS = (ROOT / "docs" / "explanation" / "sessions.md").read_text(encoding="utf-8")
KEYS = (ROOT / "docs" / "reference" / "session-store.md").read_text(encoding="utf-8")
SCRIPTS = ROOT / "service" / "keyspace" / "scripts"
TELLING = [ROOT / "service" / part for part in ("authn", "administration", "features")]


def test_every_key_that_a_script_names_is_on_the_page() -> None:
    text = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS.glob("*.lua"))
    text += (SCRIPTS.parent / "keys.py").read_text(encoding="utf-8")
    families = set(re.findall(r"""['"](auth:[a-z:]+)['"{]""", text)) - {
        "auth:online:page"
    }  # gone with its script
    families -= {"auth:online:"}  # the three indexes by a value are named by the scripts

    assert len(families) == 25
    named = {family: f"`{family}" if family.endswith(":") else f"`{family}`" for family in families}
    assert {family for family, name in named.items() if name not in KEYS} == set()


def test_every_security_event_is_on_the_page() -> None:
    modules = [module for part in TELLING for module in part.rglob("*.py")]
    modules = [module for module in modules if module.parent.name != "audit_proof"]  # about logs
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    events = re.findall(r'_security\(\s*"([^"]+)"', text)
    events += re.findall(r'_log\.\w+\(\s*"([^"]+)",\s*event_type="security"', text)

    assert len(events) == 16
    assert [event for event in events if f"| `{event}` |" not in SESSIONS] == []


def test_every_cookie_is_on_the_page() -> None:
    cookies = Cookies(Auth(jwt_secret="hinges-2-portals-7-winches-4-chains-9", is_read_cookie=True))
    for name in (cookies.access, cookies.refresh, cookies.csrf, CSRF_HEADER):
        assert f"`{name}`" in SESSIONS


CHECKS = (ROOT / "docs" / "guides" / "check-health.md").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs" / "guides" / "operating.md").read_text(encoding="utf-8")


def test_the_guide_for_operators_lists_the_checks_as_the_doctor_makes_them() -> None:
    assert [row[0] for row in rows(between(CHECKS, "checks"))] == [check.name for check in checks_for()]


def test_every_security_event_of_the_operator_is_on_the_page() -> None:
    modules = (ROOT / "service").rglob("*.py")
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    events = re.findall(r'tell_security\(\s*settings,\s*"([^"]+)"', text)

    assert len(events) == 12
    assert [event for event in events if f"| `{event}` |" not in OPERATING] == []
