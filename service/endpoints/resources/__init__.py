"""Registered resources and their bindings: ``/api/resource``."""
