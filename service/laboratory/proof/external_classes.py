"""The finitely many classes of requests to other services that one or two policies distinguish."""

from collections.abc import Iterable, Iterator, Mapping

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import PARAMETER, OverlappingPatterns
from service.authz.engine.rules import UNREGISTERED
from service.kernel.services import object_of, split_object
from service.laboratory.proof.request_classes import ANY, Compared, RequestClass, compared_classes


def external_classes(policy: Policy) -> Iterator[RequestClass]:
    """Yield a class for each registered resource of each other service, and for its unregistered routes.

    The most specific resource decides a request, so each resource has requests of its own.
    """
    for service in policy.other_services:
        yield _rest(service)
    for name in sorted(policy.registered_external):
        service, route = split_object(name)
        method, _, path = route.partition(" ")
        yield RequestClass(method, shape(path).replace(PARAMETER, ANY), name, service)


def every_compared_class(before: Policy, after: Policy) -> Iterator[Compared]:
    """Yield the classes of all requests that two policies distinguish, to this and to other services."""
    yield from compared_classes(before, after)
    yield from compared_external_classes(before, after)


def compared_external_classes(before: Policy, after: Policy) -> Iterator[Compared]:
    """Yield the classes of requests to other services that two policies distinguish.

    A class is that of a resource of either policy, together with a resource of only one policy that fits the
    same requests. If the two policies read the router of a service differently, a path also occurs with other
    letters and with a slash.
    """
    services = {**before.other_services, **after.other_services}
    registered = _by_shape(before), _by_shape(after)
    for service in services:
        readings = before.service(service), after.service(service)
        # Where paths are read in another way, resources of both policies may get requests from one another.
        # A policy that does not know the service refuses them all, however they are spelled.
        varied = None not in readings and readings[0] != readings[1]
        routes = [of_policy.get(service, {}) for of_policy in registered]
        for request_class in (_rest(service), *_classes(service, *routes, varied=varied)):
            old, new = (None if reading is None else request_class for reading in readings)
            yield old, new


def _by_shape(policy: Policy) -> dict[str, dict[str, str]]:
    """Return the routes that are registered of each other service, by their shapes."""
    routes: dict[str, dict[str, str]] = {}
    for name in policy.registered_external:
        service, route = split_object(name)
        routes.setdefault(service, {})[shape(route)] = route
    return routes


def _classes(
    service: str, before: Mapping[str, str], after: Mapping[str, str], *, varied: bool
) -> Iterator[RequestClass]:
    """Yield the classes of a service whose routes, by shape, are ``before`` and ``after``."""
    whole = {**before, **after}
    beside = OverlappingPatterns(whole if varied else before.keys() ^ after.keys())
    seen: set[str] = set()
    for shaped in whole:
        for variant in _variants(shaped) if varied else (shaped,):
            segments = variant.split("/")
            for met in (segments, *(narrower for _, narrower in beside.overlapping(segments))):
                if (name := "/".join(met)) not in seen:
                    seen.add(name)
                    method, _, path = name.partition(" ")
                    object_name = object_of(service, whole.get(name, name))
                    yield RequestClass(method, path.replace(PARAMETER, ANY), object_name, service)


def _variants(shaped: str) -> Iterable[str]:
    """Return a shape with its letters and its slash at the end as other requests may have them."""
    method, _, path = shaped.partition(" ")
    other = path[:-1] if path.endswith("/") and len(path) > 1 else f"{path}/"
    made = (each for spelling in (path, other) for each in (spelling, spelling.upper(), spelling.lower()))
    return dict.fromkeys(f"{method} {variant}" for variant in made if variant != "//")


def _rest(service: str) -> RequestClass:
    return RequestClass(UNREGISTERED, "", object_of(service, UNREGISTERED), service)
