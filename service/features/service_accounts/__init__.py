"""API keys of service accounts."""
