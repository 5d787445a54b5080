"""The feature of embedded stores."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="embedded",
    title="PostgreSQL and Valkey from installed wheels, where no external ones are set",
    provides={"embedded-stores": "stores"},
)
