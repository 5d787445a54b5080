"""Provisioning of users and groups by a directory, by SCIM 2.0 (RFC 7642 to 7644)."""
