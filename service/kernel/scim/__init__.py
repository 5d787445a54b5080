"""SCIM 2.0 as values: the attributes of resources, filters, and patches (RFC 7643, RFC 7644)."""
