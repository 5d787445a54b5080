"""Discovery document of the decision point: ``/.well-known/authzen-configuration``."""

from service.errors import NotFound
from service.features.decisions.sentences import sentence
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, outside
from service.web.messages.schema import ProtocolSchema


class DecisionPointMetadata(ProtocolSchema):
    """The metadata of the decision point."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    search_subject_endpoint: str
    search_resource_endpoint: str
    search_action_endpoint: str


class AccessConfiguration(Responders, at="/.well-known/authzen-configuration"):
    def __init__(self, public_url: str) -> None:
        """Create the endpoint; ``public_url`` is the service's URL for clients, or "" if unknown."""
        self._base = public_url

    @outside(name="getAuthzenConfiguration", refuses=[NotFound])
    async def on_get(self, _context: RequestContext) -> DecisionPointMetadata:
        """Read the addresses of the decision point of OpenID AuthZEN 1.0.

        404 without the setting `server.public_url`, since clients choose the `Host` of a request.
        """
        base = self._base
        if not base:
            raise NotFound(sentence("public_url_unset"))
        return DecisionPointMetadata(
            policy_decision_point=base,
            access_evaluation_endpoint=f"{base}/access/v1/evaluation",
            access_evaluations_endpoint=f"{base}/access/v1/evaluations",
            search_subject_endpoint=f"{base}/access/v1/search/subject",
            search_resource_endpoint=f"{base}/access/v1/search/resource",
            search_action_endpoint=f"{base}/access/v1/search/action",
        )
