"""Declaration of the feature: use of permissions."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="permission_use",
    title="Which permissions are used: noted by each worker, and merged in the database",
    parts="parts:UsesPart",
    sentences="sentences:sentence",
    jobs="jobs:jobs",
)
