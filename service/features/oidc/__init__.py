"""Sign-in with providers of OpenID Connect: the relying party, and the accounts of its users."""
