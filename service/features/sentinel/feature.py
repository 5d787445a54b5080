"""A session store behind Sentinel."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="sentinel",
    title="A primary that Sentinel watches as the session store",
    provides={"session-store-primary": "primary:primary_of"},
)
