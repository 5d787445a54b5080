"""The relying party of OpenID Connect: what a provider says, and whether to believe it."""
