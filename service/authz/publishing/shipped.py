"""The shipped model and lines, or those of the settings."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import service
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ACCOUNT,
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    LOGIN,
    NO_SESSION,
    NOBODY,
    PREFLIGHT,
    REQUEST,
    RESOURCE,
    REVIEW,
    SERVICE,
    UNREGISTERED,
    WORDS,
    PolicyError,
    PolicyFileError,
    Rule,
    as_csv,
    read_rules,
)
from service.authz.publishing.demand_table import TABLE
from service.authz.publishing.demands import FORMER, demands_of_extension, read_demands
from service.authz.publishing.derive import digest_of, with_demands
from service.kernel.account_acts import ACTS, ASKING
from service.kernel.core_sentences import sentence
from service.kernel.extension import CASES, ENDPOINTS, INVARIANTS, Extension, load_extensions, pages_with
from service.kernel.feature import Feature, about_any, off_by, sole
from service.kernel.permission_catalogue import Page, codes_by_endpoint
from service.kernel.persons import TAKEOVER_DAYS
from service.kernel.request_objects import code_of_review
from service.kernel.services import OWN_ACTIONS, PORTCULLIS, split_object
from service.settings import Policy as PolicySettings
from service.settings import Settings
from service.settings.sections.policy import Demands

MODEL: Final = "model.conf"
BASE: Final[Demands] = "base"
"""The demands that all versions had: a login."""
POLICIES: Final = "policies"

_FILES: Final = ("base.csv", ENDPOINTS, "accounts.csv", TABLE)
"""The files of lines of a policy folder; the former files of demands may stand in place of the table."""

_ENDINGS: Final = frozenset({".csv", ".table"})
"""The endings of files of lines."""

_SITUATIONS: Final = (UNREGISTERED, NO_SESSION, PREFLIGHT)
"""The objects of ``base.csv``."""

Lint = Callable[[str, str], None]
"""Checks the text of a model, given with its name; raises PolicyError."""


def _nothing_stated() -> Any:
    return sole("invariants")()


@dataclass(frozen=True)
class Shipped:
    """The node's static policy, from the code and the settings of the node.

    A linted model and checked lines. ``base`` are the openings. ``endpoints`` are the codes that the code's
    endpoints require, with the lines for administering the resources of this service. ``accounts`` are the
    acts of callers on accounts, ``assurance`` the demands on their authentication. ``invariants`` are
    statements about the policy that must stay true; they decide no request. Lines and statements of
    ``extensions`` are among them. ``off`` are the features that are switched off: lines and statements about
    them are left out, and ``absent`` are their endpoints. ``takeover_days`` is the number of days for which
    an act on an account lets its holder count as its owner.
    """

    model_text: str
    base: tuple[Rule, ...]
    endpoints: tuple[Rule, ...]
    accounts: tuple[Rule, ...] = ()
    invariants: Any = field(default_factory=_nothing_stated)
    extensions: tuple[Extension, ...] = ()
    assurance: tuple[Rule, ...] = ()
    takeover_days: int = TAKEOVER_DAYS
    off: tuple[Feature, ...] = ()
    absent: frozenset[str] = frozenset()
    level: Demands = BASE

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All lines of the static policy, in the order of the files."""
        return (*self.base, *self.endpoints, *self.accounts, *self.assurance)

    @property
    def counted(self) -> str:
        """Return the number of lines of each file, in words."""
        return (
            f"{len(self.base)} base, {len(self.endpoints)} endpoint, {len(self.accounts)} account "
            f"and {len(self.assurance)} assurance"
        )

    @property
    def catalogue(self) -> tuple[Page, ...]:
        """The pages of the catalogue of permissions, those of the extensions last."""
        return pages_with(self.extensions)

    @property
    def opened_by(self) -> dict[str, frozenset[str]]:
        """The codes that open each endpoint that is served."""
        opened = codes_by_endpoint(self.catalogue)
        return {endpoint: codes for endpoint, codes in opened.items() if not about_any(self.off, endpoint)}

    @property
    def cases_of_extensions(self) -> tuple[Path, ...]:
        """The folders of decision tables that extensions bring."""
        folders = (extension.policies / CASES for extension in self.extensions)
        return tuple(path for path in folders if path.is_dir())

    @property
    def leaves_unregistered(self) -> bool:
        """True if requests without a matching resource go on to the endpoint layer."""
        return any(rule.object == UNREGISTERED for rule in self.base)

    @property
    def routes(self) -> tuple[str, ...]:
        """The objects of the endpoint layer, as often as each has lines, in order."""
        return tuple(rule.object for rule in self.endpoints if rule.layer == ENDPOINT)

    @cached_property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of the parsed model, the lines and the statements.

        Comments and layout of the model, and the order and places of lines and statements, are no part of it.
        """
        lines = as_csv(sorted(self.rules))
        model = sole("parsed-model")(self.model_text)
        decides = f"{model}\n{lines}\n".encode()
        return hashlib.sha256(decides + self.invariants.canonical).hexdigest()

    @cached_property
    def lines(self) -> Lines:
        """The same lines, grouped by layer and object."""
        return Lines(self.rules)

    def policy(
        self,
        shared: Lines,
        bits: Mapping[str, int],
        revision: int,
        *,
        digest: str | None = None,
        like: Policy | None = None,
    ) -> Policy:
        """Return the policy of a revision for this node: its own lines and the shared ones.

        ``digest`` is that of ``shared`` and ``bits``, None to compute it here. ``like`` is another policy of
        this node, such as the one before: it saves work and changes nothing. Raises PolicyError if ``shared``
        has lines that belong to the node's own files: openings, endpoints, accounts or demands on them.
        """
        own = [
            *shared.objects(ENDPOINT),
            *shared.objects(ACCOUNT),
            *(name for name in shared.objects(REVIEW) if code_of_review(name) is None),
            *(name for name in shared.objects(SERVICE) if name.split(" ")[0] == PORTCULLIS),
            *(name for name in _SITUATIONS if name in shared.objects(RESOURCE)),
            *(name for name in shared.objects(ASSURANCE) if not is_stored(name)),
        ]
        if own:
            raise PolicyError(*(sentence("line_of_node", object=name) for name in own))
        return Policy(
            self.model_text,
            self.lines.joined(with_demands(shared)),
            bits,
            revision,
            digest=digest or digest_of(shared, bits),
            own_digest=self.digest,
            own=self.lines,
            shared=shared,
            like=like,
            absent=self.absent,
        )


def is_stored(demand: str) -> bool:
    """True for a demand on what administrators register: a resource, the rest of a service, a request."""
    layer, _, name = demand.partition(" ")
    return layer == REQUEST or (layer == RESOURCE and name not in _SITUATIONS)


def configured(settings: Settings) -> Shipped:
    """Read what ``settings`` name, as ``read_shipped`` does.

    PolicyError also when the setting ``policy.own_digests`` does not let the result serve.
    """
    policy = settings.policy
    strict = policy.unregistered == "deny"
    shipped = read_named(settings, policy.folder, assurance=policy.assurance, strict=strict)
    require_allowed(shipped.digest, policy.own_digests)
    return replace(shipped, takeover_days=policy.takeover_days)


def read_named(
    settings: Settings, folder: Path | None, *, assurance: Demands, strict: bool = False
) -> Shipped:
    """Read the model, invariants and extensions that ``settings`` name, with the lines of ``folder``.

    The rest is as for ``read_shipped``: whether the result may serve is not asked.
    """
    policy = settings.policy
    facts = (policy.model, folder, policy.invariants, policy.extensions)
    return read_shipped(*facts, strict=strict, assurance=assurance, off=off_by(settings.features.off))


def read_shipped(
    model: Path | None = None,
    folder: Path | None = None,
    invariants: Iterable[Path] = (),
    extensions: Iterable[str] = (),
    *,
    strict: bool = False,
    assurance: Demands = BASE,
    off: tuple[Feature, ...] = (),
    lint: Lint | None = None,
) -> Shipped:
    """Read ``model`` and ``folder``, else the shipped ``model.conf`` and ``policies``; lint all of it.

    ``invariants`` are further files of statements, in addition to the optional one in ``folder``.
    ``extensions`` are packages, whose lines and statements are added: ExtensionError if a package cannot be
    used. ``lint`` checks the model; only policies that decide no requests may be checked less strictly.
    ``strict`` omits the lines for ``@unregistered``. ``assurance`` names the column of demands. Lines about
    the features ``off`` are read and left out. Raises PolicyError with file, line and reason of every fault;
    each file has lines of its own layers only.
    """
    model = model or _shipped(MODEL)
    folder = policy_folder(folder)
    _require_known(folder, _FILES, FORMER)
    text = read_model(model, lint)
    base = _read_openings(folder / "base.csv")
    if strict:
        base = tuple(rule for rule in base if rule.object != UNREGISTERED)
    added = load_extensions(extensions)
    lines = tuple(line for extension in added for line in _read_extension(extension))
    endpoints = _read_endpoints(folder / ENDPOINTS)
    demanded = read_demands(folder, assurance, endpoints)
    own = [place / INVARIANTS for place in (folder, *(extension.policies for extension in added))]
    statements = (*(path for path in own if path.exists()), *invariants)
    return Shipped(
        model_text=text,
        base=base,
        endpoints=(*_served(endpoints, off), *(line for line in lines if line.layer == ENDPOINT)),
        accounts=_read_accounts(folder / "accounts.csv"),
        invariants=sole("invariants")(statements, lines, assurance, strict=strict, off=off),
        extensions=added,
        assurance=(*_served(demanded, off), *(line for line in lines if line.layer == ASSURANCE)),
        off=off,
        level=assurance,
        absent=_objects(endpoints) - _objects(_served(endpoints, off)),
    )


def _served(rules: Iterable[Rule], off: tuple[Feature, ...]) -> tuple[Rule, ...]:
    """Return the lines without those about the features ``off``."""
    return tuple(rule for rule in rules if not (off and about_any(off, rule.object)))


def _objects(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(rule.object for rule in rules)


def files_of(policy: PolicySettings) -> list[Path]:
    """Return the model and all files of the policy folder: ``configured`` reads some of them."""
    folder = policy_folder(policy.folder)
    return [policy.model or _shipped(MODEL), *sorted(path for path in folder.rglob("*") if path.is_file())]


def _require_known(folder: Path, names: Collection[str], former: Collection[str] = ()) -> None:
    """Raise PolicyError for each file of lines below ``folder`` that would not be read."""
    strays = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in _ENDINGS and str(path.relative_to(folder)) not in {*names, *former}
    ]
    if strays:
        known = ", ".join(names)
        raise PolicyFileError(
            *(f"{path}: unknown file: the files of policy lines are {known}" for path in strays)
        )


def policy_folder(folder: Path | None) -> Path:
    """Return the folder of a setting, or of the shipped policy if it names none."""
    return folder or _shipped(POLICIES)


def _shipped(name: str) -> Path:
    # The wheel carries the files inside the package; in a checkout they stand beside it.
    package = Path(service.__file__).parent
    packed = package / "shipped" / name
    return packed if packed.exists() else package.parent / name


def read_model(path: Path, lint: Lint | None = None) -> str:
    """Return the linted text of a ``model.conf``; PolicyError if it can't be read or used."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{path} can't be read: {error}") from error
    lint = lint or sole("model-lint")
    lint(text, str(path))
    return text


def _read_openings(path: Path) -> tuple[Rule, ...]:
    """Return the openings. A line for a registered resource here would open it past its bindings."""
    rules = _read_layer(path, RESOURCE)
    faults = [
        f"{path}: the object must be one of {', '.join(_SITUATIONS)}, not '{rule.object}': lines of "
        "registered resources are stored in the database"
        for rule in rules
        if split_object(rule.object)[1] not in _SITUATIONS
    ]
    if Rule(RESOURCE, UNREGISTERED, ANYONE) in rules:
        faults.append(f"{path}: {UNREGISTERED} can't be open to {ANYONE}: the widest allowed code is {LOGIN}")
    if Rule(RESOURCE, NO_SESSION, ANYONE) not in rules:
        line = Rule(RESOURCE, NO_SESSION, ANYONE)
        faults.append(f"{path}: the line '{line}' is missing: without it, users could not log in")
    if faults:
        raise PolicyFileError(*faults)
    return rules


def _read_extension(extension: Extension) -> tuple[Rule, ...]:
    """Return the endpoint lines of an extension, with the demands on its endpoints.

    They are about its own paths, and for its own codes or words only.
    """
    path = extension.policies / ENDPOINTS
    _require_known(extension.policies, (ENDPOINTS,))
    rules = demands_of_extension(path, _read_layer(path, ENDPOINT, ASSURANCE))
    strangers = [
        rule
        for rule in rules
        if rule.layer == ENDPOINT
        and not (
            extension.owns_path(rule.object.partition(" ")[2])
            and (rule.code in WORDS or extension.owns_code(rule.code))
        )
    ]
    if strangers:
        allowed = f"paths below {extension.prefix} and codes that begin with '{extension.name}:'"
        raise PolicyFileError(*(f"{path}: only {allowed} are allowed, not '{line}'" for line in strangers))
    return rules


def _read_endpoints(path: Path) -> tuple[Rule, ...]:
    """Return the requirements of endpoints, and the lines for administering this service's resources."""
    rules = _read_layer(path, ENDPOINT, SERVICE)
    of_services = [rule for rule in rules if rule.layer == SERVICE]
    allowed = {f"{PORTCULLIS} {action}" for action in OWN_ACTIONS}
    faults = [
        f"{path}: lines of the {SERVICE} layer must have an object of {', '.join(sorted(allowed))} here, "
        f"not '{rule}'"
        for rule in of_services
        if rule.object not in allowed
    ]
    missing = allowed.difference(rule.object for rule in of_services)
    faults += (f"{path}: '{name}' has no line of the {SERVICE} layer" for name in sorted(missing))
    if faults:
        raise PolicyFileError(*faults)
    return rules


def _read_accounts(path: Path) -> tuple[Rule, ...]:
    """Return the acts of callers on accounts and in reviews; an act without a line is a fault."""
    rules = _read_layer(path, ACCOUNT, REVIEW)
    lined = {rule.object.partition(" ")[0] for rule in rules if rule.layer == ACCOUNT}
    faults = [
        f"{path}: '{act}' has no line; use {NOBODY} to close it"
        for act in (*ACTS, *ASKING)
        if act not in lined
    ]
    faults += (
        f"{path}: '{rule}' is derived from reviews with this code"
        for rule in rules
        if rule.layer == REVIEW and code_of_review(rule.object) is not None
    )
    if faults:
        raise PolicyFileError(*faults)
    return rules


def _read_layer(path: Path, *layers: str) -> tuple[Rule, ...]:
    rules = read_rules(path)
    strangers = [str(rule) for rule in rules if rule.layer not in layers]
    if strangers:
        layer_names = " and ".join(layers)
        raise PolicyFileError(
            *(
                f"{path}: only lines of the {layer_names} layer are allowed, not '{line}'"
                for line in strangers
            )
        )
    return rules


OWN_DIGESTS: Final = "policy.own_digests"


def require_allowed(digest: str, allowed: Collection[str]) -> None:
    """Raise PolicyError unless ``digest`` is in ``allowed`` or ``allowed`` is empty."""
    if allowed and digest not in allowed:
        raise PolicyFileError(
            f"the digest of this node's static policy, {digest}, is not listed in {OWN_DIGESTS}"
        )
