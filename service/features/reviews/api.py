"""Routes of reviews, unused rights and sign-offs."""

from typing import Any

from service.administration.people import People
from service.features.explain.parts import past_of
from service.features.reviews import api_reviews, api_sign_offs, api_unused
from service.features.reviews.closing import Closing
from service.features.reviews.reviews import Reviews
from service.features.reviews.sign_offs import SignOffs
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    _add_reviews(routes, container)
    _add_policy(routes, container)


def _add_reviews(routes: Routes, container: Any) -> None:
    database, live = container.stores.database, container.policy.live
    parts, synchronized = container.administration, container.stores.sessions.synchronized
    closing = Closing(
        database,
        parts.delegation,
        live,
        container.sign_in.revocations,
        parts.notices,
        now=synchronized.instant,
        tell=container.trail.collector.operation,
    )
    changes = Reviews(parts.units, live, parts.notices, closing, synchronized.now)
    asked = database, changes
    routes.serve(api_reviews.ReviewList(*asked))
    routes.serve(api_reviews.NewReview(*asked))
    routes.serve(api_reviews.OneReview(*asked))
    routes.serve(api_reviews.ClosedReview(*asked))
    routes.serve(api_reviews.ReviewItemList(*asked))
    routes.serve(api_reviews.DecisionAboutItem(*asked))
    routes.serve(api_reviews.DecisionAboutItems(*asked))
    evidence = api_reviews.ReviewEvidence(database, container.settings.oplog, changes)
    routes.serve(evidence)


def _add_policy(routes: Routes, container: Any) -> None:
    database, parts = container.stores.database, container.policy
    settings = container.settings.policy
    people = People(settings.takeover_days)
    signing = SignOffs(people, container.stores.sessions.synchronized.instant)
    past = past_of(container)
    sign_off = api_sign_offs.RevisionSignOff(database, past.seals, signing, container.administration.notices)
    routes.serve(sign_off)
    routes.serve(api_sign_offs.ChangesSince(database, past.seals))
    asked = database, parts.live, parts.concurrency, past
    routes.serve(api_unused.UnusedOfPolicy(*asked, settings))
