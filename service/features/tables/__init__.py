"""Users and roles as tables, in and out, and resources out of an OpenAPI document."""
