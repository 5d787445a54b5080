"""Signing in with providers of OpenID Connect: the relying party, and the accounts of people who sign in."""
