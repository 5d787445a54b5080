"""What is wrong with an installation, or may soon be: for ``doctor``, for readiness and for the API."""
