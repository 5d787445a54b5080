"""API keys of service accounts: their form, and the callers who present them."""
