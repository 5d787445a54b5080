"""Idempotency keys."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="idempotency",
    title="Idempotency keys: repeated creating requests are executed once",
    tables="schema",
    jobs="jobs:jobs",
    provides={"idempotent-writes": "writes:idempotent_writes"},
)
