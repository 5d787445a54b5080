"""Idempotency keys."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="idempotency",
    title="Idempotency keys: repeated creating requests are executed once",
    tables="schema",
    sentences="sentences:sentence",
    jobs="jobs:jobs",
    provides={"idempotent-writes": "writes:idempotent_writes"},
)
