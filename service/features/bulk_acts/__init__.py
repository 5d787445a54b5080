"""The same operation on many users, roles or resources in one transaction."""
