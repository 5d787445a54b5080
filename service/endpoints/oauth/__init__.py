"""The endpoints of OAuth 2.0."""
