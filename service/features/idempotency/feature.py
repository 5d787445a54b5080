"""Idempotency keys."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="idempotency",
    title="Idempotency keys: a creating request that is repeated is made once",
    tables="schema",
    jobs="jobs:jobs",
    provides={"idempotent-writes": "writes:idempotent_writes"},
)
