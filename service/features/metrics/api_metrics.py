"""The metrics of a node, as text: ``/metrics``."""

from collections.abc import Awaitable, Callable, Iterable

from service.errors import NotFound, Unauthenticated
from service.features.metrics.families import FAMILIES
from service.features.metrics.worker_metrics import WorkerMetrics
from service.kernel.metrics import Sample
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, outside
from service.web.messages.schema import Document
from service.web.observability.exposition import MEDIA_TYPE, exposition
from service.web.requests.credentials import OperatorToken

SourceOfAll = Callable[[], Awaitable[Iterable[Sample]]]


class Metrics(Responders, at="/metrics"):
    def __init__(self, metrics: WorkerMetrics, of_all: SourceOfAll, token: OperatorToken) -> None:
        """Requests must have ``token``, 404 if it is not set; ``of_all`` reads the whole installation."""
        self._metrics = metrics
        self._of_all = of_all
        self._token = token

    @outside(refuses=[NotFound, Unauthenticated])
    async def on_get(self, context: RequestContext) -> Document:
        """Read the metrics of all workers of this node, and of the whole installation.

        Needs the bearer token of the setting `server.metrics_token`; 404 if that is empty.
        """
        if not self._token.is_set:
            raise NotFound
        if not self._token.is_held(context):
            raise Unauthenticated
        of_all = await self._of_all()
        return Document(exposition([*self._metrics.of_node(), *of_all], FAMILIES), MEDIA_TYPE)
