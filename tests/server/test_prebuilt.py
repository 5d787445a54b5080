"""The application that the template makes for workers: of which settings and files, and in which place."""

import os
import pickle
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from service.authz.publishing.shipped import Shipped, configured, policy_folder
from service.features.export.parts import Sending
from service.features.metrics.parts import part_in
from service.features.metrics.shared_metrics import SharedMetrics
from service.kernel.worker_slot import Slot
from service.server import prebuilt
from service.server.handover import VARIABLE, Handover
from service.server.prebuilt import Prebuilt, Template, built
from service.settings import Settings, load


@pytest.fixture(autouse=True)
def _process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the log and the garbage collector of the tests as they are."""
    monkeypatch.setattr(prebuilt, "configure_logging", lambda *_: None)
    monkeypatch.setattr(prebuilt, "gc", SimpleNamespace(collect=lambda: 0, freeze=lambda: None))
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of policies that a test may change."""
    return shutil.copytree(policy_folder(None), tmp_path / "policies")


def settings_with(**variables: str) -> Settings:
    destination = '{"archive": {"url": "file:///dev/null", "logs": ["logins"]}}'
    return load(
        {
            "PORTCULLIS_CONFIG": "",
            "DATABASE_URL": "postgresql:///",
            "REDIS_URL": "unix:///dev/null",
            "JWT_SECRET": secrets.token_hex(32),
            "PORTCULLIS_EXPORT__DESTINATIONS": destination,
            **variables,
        }
    )


@pytest.fixture
def settings(folder: Path) -> Settings:
    """Settings with that folder."""
    return settings_with(PORTCULLIS_POLICY__FOLDER=str(folder))


@pytest.fixture
def handover() -> Iterator[Handover]:
    """What the launcher hands settings over by; this process is the launcher and the template."""
    given = Handover()
    yield given
    os.close(given.file)


def template_of(handover: Handover) -> Template:
    return Template(os.getpid(), str(handover.file))


def made_by(template: Template) -> Prebuilt | None:
    return template.prebuilt


def slot() -> Slot:
    return Slot(2, {"metrics": SharedMetrics(2)}, secrets.token_hex(3), ("a worker before",))


def test_settings_are_handed_over_once_and_the_application_made_before_the_next_fork(
    handover: Handover, settings: Settings
) -> None:
    template = template_of(handover)
    assert os.environ[VARIABLE] == str(handover.file)
    template.before_fork()
    assert made_by(template) is None
    handover.give(settings)
    template.before_fork()
    made = made_by(template)
    assert made is not None
    assert made.settings == settings
    template.before_fork()
    assert made_by(template) is made


def test_a_worker_takes_the_application_in_its_own_place(handover: Handover, settings: Settings) -> None:
    template, place = template_of(handover), slot()
    handover.give(settings)
    template.before_fork()
    made = made_by(template)
    assert made is not None
    container = made.container
    name = place.name_of(os.getpid())
    assert container.policy.watch.worker != name
    assert template.application_of(pickle.loads(pickle.dumps(settings)), place) is made.app
    sending = container.parts["export"]
    assert isinstance(sending, Sending)
    (delivery,) = sending.exporter.deliveries
    assert {container.policy.watch.worker, container.node.scheduler.runner.worker, delivery.worker} == {name}
    journal = container.trail.journal
    assert {journal._worker, journal._sender.worker, journal._writer.worker} == {name}
    assert container.slot is part_in(container).metrics.slot is place
    assert container.policy.watch.former == place.former


def test_each_other_process_makes_its_own_application(handover: Handover, settings: Settings) -> None:
    template = template_of(handover)
    handover.give(settings)
    child = os.fork()
    if not child:
        template.before_fork()
        os._exit(0 if template.prebuilt is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_other_settings_or_a_changed_file_make_an_application_of_their_own(
    handover: Handover, settings: Settings, folder: Path
) -> None:
    template = template_of(handover)
    handover.give(settings)
    template.before_fork()
    other = settings_with(PORTCULLIS_POLICY__FOLDER=str(folder))
    assert template.application_of(other, slot()) is None  # another secret
    assert template.application_of(settings, slot()) is not None
    with (folder / "base.csv").open("a") as lines:
        lines.write("\n")
    assert template.application_of(settings, slot()) is None


def test_a_changed_key_or_a_new_file_of_the_policy_is_noticed(tmp_path: Path, folder: Path) -> None:
    key = tmp_path / "ca.pem"
    key.write_text("old")
    given = settings_with(PORTCULLIS_POLICY__FOLDER=str(folder), PORTCULLIS_MAIL__CA_FILE=str(key))
    before = prebuilt.stamps_of(given)
    assert before[key]
    key.write_text("other")
    changed = prebuilt.stamps_of(given)
    assert changed != before
    (folder / "new.csv").touch()
    assert prebuilt.stamps_of(given) != changed


@pytest.mark.parametrize(
    "variables",
    [
        {"PORTCULLIS_TRACING__ENDPOINT": "http://127.0.0.1:9"},
        {"PORTCULLIS_POLICY__DECISION_LOG": "stdout"},
        {"PORTCULLIS_EXTENSIONS": "some_extension"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_what_may_hold_on_to_its_process_is_made_by_each_worker(variables: dict[str, str]) -> None:
    assert built(settings_with(**variables)) is None


def test_what_can_not_be_made_is_left_to_the_workers(
    handover: Handover, settings: Settings, folder: Path
) -> None:
    (folder / "base.csv").write_text("no line\n")
    template = template_of(handover)
    handover.give(settings)
    template.before_fork()
    template.before_fork()
    assert made_by(template) is None
    assert template.application_of(settings, slot()) is None


def test_a_file_that_changes_while_the_application_is_made_leaves_it_to_the_workers(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = configured

    def changed_meanwhile(given: Settings) -> Shipped:
        shipped = read(given)
        with (folder / "base.csv").open("a") as lines:
            lines.write("\n")
        return shipped

    monkeypatch.setattr(prebuilt, "configured", changed_meanwhile)
    assert built(settings) is None
