import shutil
from pathlib import Path

import pytest

from service.authz.engine.lines import Lines
from service.authz.engine.rules import WORDS, PolicyError, Rule, read_rules
from service.authz.publishing.demand_table import TABLE, read_table
from service.authz.publishing.shipped import policy_folder, read_shipped
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.sources import static_policy
from tests.policies.stock import MODEL, POLICIES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(POLICIES, tmp_path / "policies"))


def test_without_settings_the_shipped_files_are_read() -> None:
    shipped = read_shipped()

    assert shipped.model_text == MODEL.read_text("utf-8")
    assert shipped.base == read_rules(POLICIES / "base.csv")
    assert shipped.endpoints == read_rules(POLICIES / "endpoints.csv")
    assert shipped.accounts == read_rules(POLICIES / "accounts.csv")
    assert shipped.assurance == read_table(POLICIES / TABLE)["base"]
    assert shipped.rules == (*shipped.base, *shipped.endpoints, *shipped.accounts, *shipped.assurance)


def test_another_model_and_folder_are_read_instead(tmp_path: Path, folder: Path) -> None:
    model = tmp_path / "other.conf"
    model.write_text("# mine\n" + MODEL.read_text("utf-8"))
    (folder / "base.csv").write_text("p, resource, @no-session, @anyone\n")

    shipped = read_shipped(model, folder)

    assert shipped.model_text.startswith("# mine\n")
    assert [str(rule) for rule in shipped.base] == ["p, resource, @no-session, @anyone"]


def test_a_broken_model_is_refused_by_its_path_and_line(tmp_path: Path, folder: Path) -> None:
    model = tmp_path / "other.conf"
    model.write_text(MODEL.read_text("utf-8").replace("[matchers]", "[matcher]"))

    with pytest.raises(PolicyError, match=rf"{model}:\d+: \[matcher\] is not a section"):
        read_shipped(model, folder)


def test_a_broken_line_is_refused_by_its_path_and_line(folder: Path) -> None:
    (folder / "base.csv").write_text("p, resource, @unregistered, @logins\n")

    with pytest.raises(PolicyError, match=rf"{folder}/base\.csv:1: the code must be"):
        read_shipped(MODEL, folder)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("base.csv", "p, endpoint, GET /api/x, @anyone"),
        ("endpoints.csv", "p, resource, @unregistered, @anyone"),
        ("accounts.csv", "p, service, portcullis bind, system:resource:bind"),
    ],
)
def test_a_file_holds_lines_of_its_own_layer_only(folder: Path, name: str, line: str) -> None:
    (folder / name).write_text(line + "\n")

    with pytest.raises(PolicyError, match=f"layer are allowed, not '{line}'"):
        read_shipped(MODEL, folder)


OPENED = "p, resource, @no-session, @anyone\n"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            OPENED + "p, resource, POST /api/user, @login\n",
            "the object must be one of @unregistered, @no-session, @preflight",
        ),
        (
            OPENED + "p, resource, POST /api/user, @nobody\n",
            "the object must be one of @unregistered, @no-session, @preflight",
        ),
        (
            OPENED + "p, resource, orders GET /orders, @login\n",
            "the object must be one of @unregistered, @no-session, @preflight",
        ),
        (OPENED + "p, resource, @unregistered, @anyone\n", "@unregistered can't be open to @anyone"),
        ("p, resource, @unregistered, @login\n", "the line 'p, resource, @no-session, @anyone' is missing"),
        ("p, resource, @no-session, @login\n", "the line 'p, resource, @no-session, @anyone' is missing"),
    ],
)
def test_the_openings_are_the_situations_and_leave_login_open(folder: Path, lines: str, reason: str) -> None:
    (folder / "base.csv").write_text(lines)

    with pytest.raises(PolicyError, match=reason):
        read_shipped(MODEL, folder)


def test_each_act_on_accounts_has_a_line_that_may_close_it(folder: Path) -> None:
    accounts = folder / "accounts.csv"
    text = accounts.read_text()
    without = "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("p, account, ban")
    )

    accounts.write_text(without)
    with pytest.raises(PolicyError, match="'ban' has no line; use @nobody to close it"):
        read_shipped(MODEL, folder)
    accounts.write_text(f"{without}p, account, ban others, @nobody\n")
    assert Rule("account", "ban others", "@nobody") in read_shipped(MODEL, folder).accounts
    accounts.unlink()
    with pytest.raises(PolicyError, match=r"accounts\.csv can't be read"):
        read_shipped(MODEL, folder)


@pytest.mark.parametrize(
    "line", ["p, account, ban others, @login", "p, resource, @preflight, @anyone"], ids=["act", "preflight"]
)
def test_what_belongs_to_the_files_is_not_published(line: str) -> None:
    with pytest.raises(PolicyError, match="published lines must not have the object"):
        read_shipped().policy(Lines([Rule(*line.split(", ")[1:])]), {}, 1)


def test_the_rest_of_another_service_can_be_opened_to_anyone(folder: Path) -> None:
    (folder / "base.csv").write_text(OPENED + "p, resource, orders @unregistered, @anyone\n")

    assert Rule("resource", "orders @unregistered", "@anyone") in read_shipped(MODEL, folder).base


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        read_shipped(tmp_path / "none.conf")
    with pytest.raises(PolicyError, match="can't be read"):
        read_shipped(MODEL, tmp_path)


def test_the_order_of_lines_changes_neither_the_digest_nor_who_passes(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    shutil.copytree(policy_folder(None), folder)
    for path in (*folder.glob("*.csv"), folder / TABLE):
        lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
        head, rows = ([lines[0]], lines[1:]) if path.name == TABLE else ([], lines)
        path.write_text("\n".join((*head, *reversed(rows))), "utf-8")
    plain, turned = read_shipped(), read_shipped(folder=folder)
    assert turned.rules != plain.rules
    assert turned.digest == plain.digest
    policies = [static_policy(plain), static_policy(turned)]
    for rule in (rule for rule in plain.rules if rule.layer == "endpoint" and rule.code not in WORDS):
        held = HeldCodes((rule.code,))
        answers = [policy.judge(rule.layer, rule.object, held) for policy in policies]
        assert len({(answer.allowed, frozenset(answer.required)) for answer in answers}) == 1, rule
