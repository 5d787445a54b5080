"""The paths that questions to the policy may name: those of requests, and templates of routes."""

from service.authz.engine.paths import canonical, canonical_external_path, registered_fault, shape
from service.authz.publishing.sync import any_request
from service.kernel.services import PORTCULLIS


def request_path(path: str, service: str = PORTCULLIS) -> str:
    """Return the path to decide about: a request's, decoded, or one of any request to a template.

    A template such as ``/api/user/{id}`` stands for the requests whose values no other resource names. Raises
    BadRequest for a path that no request may have.
    """
    external = service != PORTCULLIS
    if shape(path) != path and registered_fault(path, may_end_in_slash=external) is None:
        return any_request(path)
    return canonical_external_path(path) if external else canonical(path)


def shape_of(place: str) -> str:
    """Return a path of ``request_path`` for people: ``{}`` stands for any value of a template."""
    return place.replace(any_request("{_}"), "{}")
