"""The settings of the policy and the decision log."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from service.kernel.persons import MOST_TAKEOVER_DAYS, TAKEOVER_DAYS
from service.settings.checks import between
from service.settings.table import setting
from service.settings.values import Digests, LogOutput, OptionalPath, Packages, Paths

Demands: TypeAlias = Literal["base", "administrators", "everybody"]
"""The levels of demands that a node may use: each is a column of ``assurance.table``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The Casbin model and the policy files."""

    model: OptionalPath = setting(None, shown="the shipped `model.conf`", help="Another `model.conf`.")
    folder: OptionalPath = setting(
        None,
        shown="the shipped `policies`",
        help="Another folder of policy files (`policies/README.md`).",
    )
    unregistered: Literal["allow", "deny"] = setting(
        "allow",
        help="Requests of logged-in callers that match no registered resource. `deny` only leaves out the "
        "line `p, resource, @unregistered, @login` of `base.csv`; `allow` uses the file unchanged.",
    )
    assurance: Demands = setting(
        "base",
        help="How strongly somebody must have authenticated, by a column of `assurance.table`: `base`, a "
        "login; `administrators`, two factors for what changes users, roles, the policy, keys and "
        "services, and a fresh login for ending sessions and for changes of one's address and phone "
        "number; `everybody`, two factors for all but enrolling, logging out and one's own data. Name "
        "the same on all nodes.",
    )
    invariants: Paths = setting(
        Paths(),
        shown="only those of the folder",
        help="Further files of invariants, besides `invariants.yaml` of the folder: separated by commas in "
        "the environment, a list in the file. A change that breaks a statement is refused; name the same "
        "files on all nodes.",
    )
    extensions: Packages = setting(
        Packages(),
        env="PORTCULLIS_EXTENSIONS",
        shown="none",
        help="Python packages that add endpoints of their own, with policy lines, permissions and tables: "
        "names of installed ones or absolute paths of folders, separated by commas in the environment, a "
        "list in the file. Their code runs in the service with all its rights: name only what you trust, and "
        "the same on all nodes.",
    )
    own_digests: Digests = setting(
        Digests(),
        shown="all may serve",
        help="The static policies (model, lines and statements) that may serve, as the digests "
        "that `portcullis policy check` prints: separated by commas in the environment, a list in the file. "
        "A start with another one is refused, and running workers log other workers that use one. During the "
        "roll-out of a new version, name the digests of both.",
    )
    takeover_days: int = setting(
        TAKEOVER_DAYS,
        unit="days",
        check=between(1, MOST_TAKEOVER_DAYS),
        help="How long two accounts count as one person in decisions after the user of one of them has made "
        "the other, set its password, address, factors or key, handed it over to a provider, or seen a link "
        "to it (`docs/explanation/who-counts-as-one-person.md`). Name the same on all nodes.",
    )
    await_followers: float = setting(
        0.0,
        unit="s",
        check=between(0, 30),
        help="How long the answer to a change of rights or of the policy waits, at most, until each decision "
        "point beside a service has it or has no lease any more. 0: it does not wait; such a decision point "
        "has it within its bound, 2 seconds by default.",
    )
    decision_log: LogOutput = setting(
        "off",
        help="Where each refusal by the policy is written as one line of JSON: `off`, `stdout`, or the path "
        "of a file, which all workers append to. Its folder must exist.",
    )
    decision_log_allows: float = setting(
        0.0,
        check=between(0, 1),
        help="The share of the allowed requests that are written too, chosen at random: from 0, none, to 1, "
        "all.",
    )
