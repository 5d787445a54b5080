"""Portcullis: an administration back end whose every authorization decision is one Casbin decision.

Imports point down this list only: ``launch``, ``__main__``, ``features``, ``cli``, ``server`` and
``laboratory``, ``operator``, ``app``, ``endpoints``, ``web``, ``administration``, ``authn``, ``authz``,
``files`` and ``jobs``, ``audit``, ``records`` and ``keyspace``, ``settings``, ``errors``, ``kernel``.
Packages joined by "and", and ``authn`` and ``authz``, do not import one another. ``client`` imports none of
them. The contract in ``pyproject.toml`` has the whole list.
"""

__version__ = "0.4.0.dev0"
