"""Other services, whose routes resources guard, public access to them, and OAuth 2.0 for their accounts."""
