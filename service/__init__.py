"""Portcullis: an administration back end whose every authorization decision is one Casbin decision.

Imports point down this list only: ``launch``, ``__main__``, ``features``, ``cli``, ``server``,
``laboratory``, ``operator``, ``app``, ``endpoints``, ``web``, ``administration``, then ``authn``, ``authz``,
``files`` and ``jobs`` (which do not know one another), ``mail``, ``audit``, ``records``, ``keyspace`` and
``embedded``, ``settings``, ``errors`` and ``kernel``.
``client`` imports none of them.
"""

__version__ = "0.3.0.dev0"
