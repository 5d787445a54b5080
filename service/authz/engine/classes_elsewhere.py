"""The finitely many classes of requests to other services that one or two policies distinguish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from service.authz.engine.meeting_shapes import PARAMETER, MeetingShapes
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.request_classes import ANY, Compared, RequestClass, compared_classes
from service.authz.engine.rules import UNREGISTERED
from service.kernel.services import object_of, split_object


def classes_elsewhere(policy: Policy) -> Iterator[RequestClass]:
    """Yield a class for each registered resource of each other service, and for what is not registered.

    The most specific resource decides a request, so each one has requests of its own.
    """
    for service in policy.other_services:
        yield _rest(service)
    for name in sorted(policy.registered_elsewhere):
        service, route = split_object(name)
        method, _, path = route.partition(" ")
        yield RequestClass(method, shape(path).replace(PARAMETER, ANY), name, service)


def every_compared_class(before: Policy, after: Policy) -> Iterator[Compared]:
    """Yield the classes of all requests that two policies tell apart, to this and to other services."""
    yield from compared_classes(before, after)
    yield from compared_classes_elsewhere(before, after)


def compared_classes_elsewhere(before: Policy, after: Policy) -> Iterator[Compared]:
    """Yield the classes of requests to other services that two policies tell apart.

    A class is that of a resource of either policy, as far as a resource of one alone fits the same requests.
    Where the router of a service is read in two ways, a path also stands with other letters and with a slash.
    """
    services = {**before.other_services, **after.other_services}
    for service in services:
        policies = before, after
        known = [policy.service(service) is not None for policy in policies]
        for one in (_rest(service), *_classes(service, before, after)):
            old, new = (one if is_known else None for is_known in known)
            yield old, new


def _classes(service: str, before: Policy, after: Policy) -> Iterator[RequestClass]:
    found = [
        {shape(split_object(name)[1]): split_object(name)[1] for name in _of(service, policy)}
        for policy in (before, after)
    ]
    alone = MeetingShapes(found[0].keys() ^ found[1].keys())
    varied = before.service(service) != after.service(service)
    seen: set[tuple[str, str]] = set()
    for shaped, name in (found[0] | found[1]).items():
        met = [shaped.split("/"), *(segments for _, segments in alone.meeting(shaped.split("/")))]
        for segments in met:
            whole = "/".join(segments)
            method, _, path = whole.partition(" ")
            for one in _variants(path) if varied else (path,):
                if (method, one) not in seen:
                    seen.add((method, one))
                    shown = name if one == path and whole == shaped else f"{method} {one}"
                    place = one.replace(PARAMETER, ANY)
                    yield RequestClass(method, place, object_of(service, shown), service)


def _variants(path: str) -> Iterable[str]:
    other = path[:-1] if path.endswith("/") and len(path) > 1 else f"{path}/"
    return dict.fromkeys(
        made for one in (path, other) for made in (one, one.upper(), one.lower()) if one != "//"
    )


def _of(service: str, policy: Policy) -> Iterator[str]:
    return (name for name in policy.registered_elsewhere if split_object(name)[0] == service)


def _rest(service: str) -> RequestClass:
    return RequestClass(UNREGISTERED, "", object_of(service, UNREGISTERED), service)
