"""A client for services that Portcullis guards: questions, middleware for ASGI and WSGI, and for FastAPI.

This folder is the distribution ``portcullis-admin-client``, imported as ``portcullis_client``. It imports
nothing else of Portcullis, so it can also be copied into another project under any name. It needs httpx;
``assertion`` needs joserfc too, and ``fastapi_dependency`` needs FastAPI.
"""

from .asgi import GuardASGI
from .asking import AsyncPortcullis, Portcullis
from .entities import Decision, Question, Resource, StepUp, Subject, User
from .exchange import Semantic
from .wsgi import GuardWSGI

__all__ = [
    "AsyncPortcullis",
    "Decision",
    "GuardASGI",
    "GuardWSGI",
    "Portcullis",
    "Question",
    "Resource",
    "Semantic",
    "StepUp",
    "Subject",
    "User",
]
