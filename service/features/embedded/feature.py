"""The feature of embedded stores."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="embedded",
    title="Embedded PostgreSQL and Valkey from installed wheels, if no external stores are set",
    provides={"embedded-stores": "stores"},
)
