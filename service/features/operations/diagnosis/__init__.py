"""Current and approaching faults of an installation: for ``doctor``, readiness and the API."""
