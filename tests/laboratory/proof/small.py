"""Small worlds, in which all callers and all requests can be tried one by one."""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ENDPOINT, GRANT, OF_CODES, RESOURCE, Rule
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.comparison import VISITOR, DifferingRequest, PossibleCaller
from service.laboratory.proof.conditions import Condition, condition_of, line_answers
from service.laboratory.proof.escaping import escaping_any
from service.laboratory.proof.external_classes import every_compared_class
from tests.policies.stock import MODEL

TEXT = MODEL.read_text("utf-8")
CODES = tuple(
    ":".join(segments) for length in (1, 2, 3) for segments in product(("a", "b", "*"), repeat=length)
)
"""All codes of up to three segments over two names and the wildcard."""

FEW = tuple(code for code in CODES if code.count(":") < 2)

_ROWS = (
    'p.code == "@anyone"',
    'p.code == "@login"',
    "isLoggedIn(r.caller)",
    "holdsExactly(r.caller, p.code)",
    "holdsEverything(r.caller, p.code)",
    "holdsSubtree(r.caller, p.code)",
    "holdsPattern(r.caller, p.code)",
)

_paths = st.tuples(*[st.sampled_from(("a", "b", "{p}"))] * 2).map(lambda two: f"GET /{two[0]}/{two[1]}")
_words = st.sampled_from(("@login", "@nobody", "@anyone"))
_line_codes = st.one_of(_words, st.sampled_from(FEW), st.sampled_from(FEW))


def models() -> st.SearchStrategy[str]:
    """The shipped model, or any other of the closed grammar: with rows dropped, repeated or restricted."""
    row = st.lists(st.sampled_from(_ROWS), min_size=1, max_size=3).map(" && ".join)
    condition = st.lists(row, min_size=1, max_size=5).map(" || ".join)
    start = TEXT.partition("m = ")[0]
    restricted = condition.map(
        lambda text: f"{start}m = r.layer == p.layer && r.object == p.object && ({text})\n"
    )
    return st.one_of(st.just(TEXT), restricted)


def policies(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Policy]:
    """Policies of a few routes and resources, whose lines have codes of ``FEW`` and words."""
    codes = st.lists(_line_codes, min_size=1, max_size=3, unique=True)
    resources = st.dictionaries(st.one_of(_paths, st.just("@unregistered")), codes, max_size=3)
    endpoints = st.dictionaries(_paths, codes, min_size=1, max_size=3)
    grants = st.sets(st.sampled_from(FEW), max_size=2)
    return st.builds(_policy, models() if text is None else text, resources, endpoints, grants)


def _policy(
    text: str, resources: dict[str, list[str]], endpoints: dict[str, list[str]], grants: set[str]
) -> Policy:
    rules = [Rule(RESOURCE, "@no-session", "@anyone")]
    rules += [Rule(RESOURCE, name, code) for name, codes in resources.items() for code in codes]
    rules += [Rule(ENDPOINT, name, code) for name, codes in endpoints.items() for code in codes]
    return Policy(text, [*rules, *(Rule(GRANT, code, code) for code in grants)])


def callers(codes: Iterable[str], most: int) -> Iterator[HeldCodes | None]:
    """A visitor, and everybody who holds at most ``most`` of ``codes``; who holds less comes first."""
    known = tuple(codes)
    yield None
    for size in range(most + 1):
        yield from map(HeldCodes, combinations(known, size))


def requests() -> Iterator[str]:
    """Every path of two segments over the names that may be registered, and one more."""
    for segments in product("abc", repeat=2):
        yield "/" + "/".join(segments)


def passes(policy: Policy, path: str, held: HeldCodes | None) -> bool:
    """What the guard does: both layers decide, and a public route authenticates nobody."""
    route = ResourceIndex(policy.rules.objects(ENDPOINT)).find("GET", path)
    if route is None:
        return False
    asking = None if policy.rules.codes(ENDPOINT, route) == ("@anyone",) else held
    resource = "@no-session" if asking is None else policy.resource_at("GET", path) or "@unregistered"
    return policy.judge(RESOURCE, resource, asking).allowed and policy.judge(ENDPOINT, route, asking).allowed


def compared_one_by_one(before: Policy, after: Policy) -> list[DifferingRequest]:
    """What ``differing_requests`` returns, with nothing grouped, remembered or left for later."""
    differing = []
    for old, new in every_compared_class(before, after):
        gains, loses = _escaping(condition_of(before, old), condition_of(after, new))
        could = old is not None and old.passes(before, None)
        can = new is not None and new.passes(after, None)
        gains, loses = VISITOR if can and not could else gains, VISITOR if could and not can else loses
        if (request_class := new or old) and (gains or loses):
            differing.append(DifferingRequest(request_class.name, gains, loses))
    differing.sort(key=lambda request: request.name)
    for layer in sorted(OF_CODES):
        for code in sorted({*before.rules.objects(layer), *after.rules.objects(layer)}):
            conditions = (
                Condition(line_answers(policy.model_text), (policy.rules.codes(layer, code),))
                for policy in (before, after)
            )
            gains, loses = _escaping(*conditions)
            if gains or loses:
                differing.append(DifferingRequest(code, gains, loses, layer))
    return differing


def _escaping(old: Condition, new: Condition) -> tuple[PossibleCaller | None, PossibleCaller | None]:
    gains, loses = (
        None if held is None else PossibleCaller(tuple(sorted(held)))
        for held in (escaping_any(new, old), escaping_any(old, new))
    )
    return gains, loses
