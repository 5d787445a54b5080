"""Writing other services and what is open there."""
