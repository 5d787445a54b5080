"""The use of permissions: which codes have let which user pass, and on which day last."""
