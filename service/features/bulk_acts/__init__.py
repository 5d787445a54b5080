"""The same act on many users, roles or resources in one transaction."""
