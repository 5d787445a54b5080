"""Routes for other services and proxies, and the discovery document of the decision point."""

from typing import Any

from service.features.decisions import api_evaluation, api_forward, api_search
from service.features.decisions.api_configuration import AccessConfiguration
from service.features.decisions.assertions import Assertions
from service.features.decisions.evaluator import Evaluator
from service.features.decisions.notes import noting
from service.features.decisions.questions import Subjects
from service.features.decisions.search import Search
from service.features.permission_use.parts import uses_of
from service.laboratory.analysis.answers import Answers
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of decisions."""
    stores, sign_in = container.stores, container.sign_in
    now = stores.sessions.synchronized.now
    subjects = Subjects(sign_in.current_rights, sign_in.authenticator)
    answers, note = Answers(now), noting(uses_of(container), container.decisions)
    assertions = Assertions(container.settings.auth, sign_in.tokens)
    forward_to = container.guard, answers, assertions, note
    routes.serve_all(api_forward, *forward_to)
    asked = Evaluator(subjects, answers), note
    routes.serve_all(api_evaluation, *asked)
    search = Search(stores.database, subjects, container.policy.concurrency, now)
    routes.serve_all(api_search, search)
    routes.serve_outside(AccessConfiguration(container.settings.server.public_url))
