"""``portcullis policy prove``: the exact condition of a question, and whether two policies are equivalent."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import get_args

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, ENDPOINT, METHODS
from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.errors import BadRequest, ValidationFailed
from service.features.explain.policy_layers import DifferingRequest
from service.features.explain.reviewing import Review, add_policy, review, unserved
from service.features.explain.wording import caller_text
from service.kernel.core_sentences import sentence
from service.kernel.services import PORTCULLIS
from service.kernel.text import counted
from service.laboratory.analysis.comparison import differing_requests, smallest_example
from service.laboratory.analysis.demands import beyond_login
from service.laboratory.analysis.sources import Source
from service.laboratory.proof.within import Bounded
from service.laboratory.prove import OBJECTS, Proof, ProvedRequest, prove
from service.laboratory.prove_within import ProvedWithin, prove_within
from service.web.messages.schema import Schema

DIFFERENT = 2
"""The exit status for two policies that are not equivalent."""

_WIDTH = 100
_SHOWN = 40


class Equivalence(Schema):
    """Whether two policies decide alike for every possible caller.

    ``differing`` is in the order of names, requests first, and ``simplest`` the position in it of the
    request whose example needs the least; null if they are equivalent.
    """

    equivalent: bool
    differing: list[DifferingRequest]
    simplest: int | None


def add_arguments(parser: ArgumentParser) -> None:
    """Add the request, or the two policies."""
    parser.add_argument(
        "method",
        metavar="METHOD",
        nargs="?",
        type=str.upper,
        choices=(*METHODS, *OBJECTS),
        help=f"the method; or a layer, to ask it about an object: {', '.join(OBJECTS)}",
    )
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="such as /api/user/1, a route template, or an object"
    )
    parser.add_argument("--service", metavar="NAME", default=PORTCULLIS, help="another service")
    add_policy(parser)
    parser.add_argument(
        "--equivalent", nargs=2, metavar=("A", "B"), help="prove that two policies agree on all callers"
    )
    parser.add_argument(
        "--within",
        choices=get_args(Bounded),
        help="prove that agents, or API keys of people, do nothing that their person can't",
    )
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Print the condition, or whether the policies are equivalent; returns 2 if they are not.

    With ``--within``, returns 2 if a key or an agent exceeds its person.

    Raises ``ValidationFailed`` for a path that no request may have, and ``PolicyError``.
    """
    if options.equivalent or options.within:
        if options.method or (options.equivalent and options.within):
            given = "--within" if options.within else "--equivalent"
            raise ValidationFailed((given, sentence("one_request_or_policies")))
        return _compare(options, environ) if options.equivalent else _within(options, environ)
    if not options.path:
        raise ValidationFailed(("PATH", sentence("request_or_policies")))

    async def ask(policies: Review, sources: Sequence[Source]) -> Proof:
        policy = await policies.proposed(sources[0])
        try:
            return await asyncio.to_thread(prove, policy, options.method, options.path, options.service)
        except BadRequest as refusal:
            raise ValidationFailed(("PATH", refusal.stated())) from None

    proof, source = review(options, environ, (options.policy,), ask, roles=False)
    show(options, proof, lambda: _proof(proof), source=source)
    return 0


def _compare(options: Namespace, environ: Mapping[str, str]) -> int:
    async def ask(policies: Review, sources: Sequence[Source]) -> Equivalence:
        before, after = [await policies.proposed(source) for source in sources]
        return await asyncio.to_thread(_compared, before, after)

    answer, source = review(options, environ, tuple(options.equivalent), ask, roles=False)
    show(options, answer, lambda: _equivalence(answer, *options.equivalent), source=source)
    return 0 if answer.equivalent else DIFFERENT


def _within(options: Namespace, environ: Mapping[str, str]) -> int:
    async def ask(policies: Review, sources: Sequence[Source]) -> ProvedWithin:
        policy = await policies.proposed(sources[0])
        return await asyncio.to_thread(prove_within, policy, options.within)

    answer, source = review(options, environ, (options.policy,), ask, roles=False)
    show(options, answer, lambda: _ceilings(answer), source=source)
    return DIFFERENT if answer.exceeding else 0


def _ceilings(answer: ProvedWithin) -> Iterator[str]:
    name, of = _BOUNDED[answer.caller]
    if answer.exceeding:
        yield f"{name} can do what its person, or one of its limits, does not allow:"
        yield from (f"  {each.object}: {each.how}" for each in answer.exceeding)
    else:
        yield f"No possible {of} can do what its person, or one of its limits, does not allow."
    yield "It passes an object exactly if each of these holds a code of one of the object's lines:"
    yield from (f"  {party}" for party in answer.parties)
    if answer.caller == "agent":
        yield "  without an approval: the delegation except askMe"
    endpoints = counted(len(answer.without_codes), "endpoint")
    yield f"Without a code the layer {ENDPOINT} opens {endpoints} to it, as to each login; --json lists them."
    acts = ", ".join(answer.acts) or "none"
    yield f"The layer {ACCOUNT} closes all acts on accounts, sessions and approvals to it, except: {acts}."


_BOUNDED = {"agent": ("An agent", "agent"), "key": ("An API key of a person", "API key of a person")}


def _compared(before: Policy, after: Policy) -> Equivalence:
    differing = differing_requests(before, after)
    simplest = smallest_example(differing)
    return Equivalence(
        equivalent=not differing,
        differing=[DifferingRequest.of(request) for request in differing],
        simplest=differing.index(simplest[0]) if simplest else 0 if differing else None,
    )


def _proof(proof: Proof) -> Iterator[str]:
    if not proof.requests:
        yield f"{proof.method} {proof.path}"
        yield from (f"  {line}" for line in unserved(proof.registered_by))
    for proved in proof.requests:
        yield from _request(proved)


def _request(proved: ProvedRequest) -> Iterator[str]:
    yield proved.request
    for layer in proved.layers:
        for line in layer.lines or (f"no line for {layer.object}",):
            yield f"  {layer.layer}: {line}"
    if stronger := beyond_login(proved.assurance):
        yield f"  Authenticated by one of: {', '.join(stronger)}"
    yield f"  Without a login: {'passes' if proved.visitors else 'never passes'}."
    if not proved.smallest:
        yield "  With a login: never passes, whatever codes are held."
    elif not proved.smallest[0]:
        yield "  With a login: passes, whatever codes are held."
    else:
        yield from _codes(proved)
    if proved.chosen is not None:
        yield f"  The service decides before the policy: {proved.chosen}; see docs/explanation/policy.md."


def _codes(proved: ProvedRequest) -> Iterator[str]:
    alone = [held[0] for held in proved.smallest if len(held) == 1]
    more = [held for held in proved.smallest if len(held) > 1]
    if alone:
        yield "  With a login, and one of:"
        yield from _listed(alone)
    first, second = (
        [code for code in layer.opened_by if code not in alone]
        for layer in (*proved.layers, *proved.layers)[:2]
    )
    if more and len(first) * len(second) == len(more):
        yield f"  {'Or with' if alone else 'With a login, and'} one of:"
        yield from _listed(first)
        yield "  together with one of:"
        yield from _listed(second)
    elif more:
        yield f"  {'Or with' if alone else 'With a login, and'} all of one line:"
        yield from ("    " + " ".join(held) for held in more[:_SHOWN])
        if len(more) > _SHOWN:
            yield f"    and {len(more) - _SHOWN} more; --json has all"


def _listed(codes: Sequence[str]) -> list[str]:
    more = f" and {len(codes) - _SHOWN} more; --json has all" if len(codes) > _SHOWN else ""
    text = "  ".join(codes[:_SHOWN]) + more
    indent = "    "
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _equivalence(answer: Equivalence, before: str, after: str) -> Iterator[str]:
    if answer.simplest is None:
        yield f"{before} and {after} are equivalent: they decide alike for every possible caller and request."
        return
    requests = sum(request.layer is None for request in answer.differing)
    others = len(answer.differing) - requests
    yield (
        f"{before} and {after} are not equivalent: they differ in {counted(requests, 'request')} "
        f"and {counted(others, 'other question')}. The simplest example:"
    )
    yield from _differing(answer.differing[answer.simplest], before, after)
    yield "All:"
    for request in answer.differing:
        yield from _differing(request, before, after)


def _differing(request: DifferingRequest, before: str, after: str) -> Iterator[str]:
    name = request.name if request.layer is None else f"{request.layer} {request.name}"
    if request.gains is None and request.loses is None:
        yield f"  {name}: only one of the two has it"
    for caller, source in ((request.gains, after), (request.loses, before)):
        if caller is not None:
            yield f"  {name}: only {source} lets pass {caller_text(caller)}"
