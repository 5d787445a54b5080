import shutil
from pathlib import Path

import pytest

from service.authz.engine.rules import GRANT, RESOURCE, PolicyError, Rule
from service.authz.publishing.derive import derive
from service.kernel.codes import HeldCodes
from service.kernel.services import BoundResource
from service.laboratory.analysis.sources import export, read_folder, source_named, static_policy
from tests.support.cases import with_each
from tests.support.running import ROOT
from tests.support.unstarted import SHIPPED

REPORT = BoundResource("GET", "/api/report/{id}", [("report:detail", True)])


@with_each(("name", "revision"), [("12", 12), ("r12", 12), ("live", None), ("shipped", None)])
def test_a_source_is_named_by_a_word_or_a_revision(name: str, revision: int | None) -> None:
    source = source_named(name)
    assert (source.name, source.revision, source.folder) == (name, revision, None)
    assert source.stored is (name != "shipped")


@with_each("name", ["", "0", "r", "-1", "1.5", "Live", "/no/such/folder", "9" * 19])
def test_what_names_nothing_is_refused_with_what_could_be_named(name: str) -> None:
    with pytest.raises(PolicyError, match="is no policy: name live, shipped, a revision such as 12"):
        source_named(name)


def test_a_folder_laid_out_like_the_shipped_files_gives_the_own_part_alone(tmp_path: Path) -> None:
    shutil.copy(ROOT / "model.conf", tmp_path)
    shutil.copytree(ROOT / "policies", tmp_path / "policies")

    policy = read_folder(tmp_path)

    assert list(policy.rules) == list(static_policy(SHIPPED).rules)
    assert policy.own_digest == SHIPPED.digest
    (tmp_path / "policies" / "base.csv").write_text("")
    with pytest.raises(PolicyError, match="users could not log in"):
        read_folder(tmp_path)


def test_an_exported_folder_gives_the_policy_that_was_exported(tmp_path: Path) -> None:
    exported = SHIPPED.policy(
        derive([REPORT], ["report:detail"], contributed={"reviewed_by": ["hr:review"]}), {}, 7
    )
    export(exported, tmp_path)

    policy = read_folder(tmp_path)

    assert list(policy.rules) == list(exported.rules)
    assert (policy.digest, policy.model_text) == (exported.digest, exported.model_text)
    assert policy.judge(RESOURCE, "GET /api/report/{id}", HeldCodes(["report:*"])).allowed
    assert policy.rules.of(GRANT, "report:detail") == (Rule(GRANT, "report:detail", "report:detail"),)


def test_an_export_that_somebody_has_changed_can_be_reviewed(tmp_path: Path) -> None:
    export(static_policy(SHIPPED), tmp_path)
    with (tmp_path / "policy.csv").open("a") as lines:
        lines.write("p, resource, @unregistered, @anyone\n")

    assert Rule("resource", "@unregistered", "@anyone") in list(read_folder(tmp_path).rules)


def test_a_folder_without_a_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"has neither policies nor policy\.csv beside model\.conf"):
        read_folder(tmp_path)
    (tmp_path / "policy.csv").write_text("")
    with pytest.raises(PolicyError, match=r"model\.conf can't be read"):
        read_folder(tmp_path)
