"""Portcullis: an administration back end whose every authorization decision is one Casbin decision.

Imports point down this list only: ``__main__``, ``launch``, ``app``, ``endpoints``, ``web``,
``administration``, then ``authn``, ``authz``, ``export``, ``files``, ``jobs`` and ``oplog`` (which do not
know one another), then ``records``, ``keyspace``, ``embedded``, ``settings``, ``errors`` and ``kernel``.
``client`` imports none of them.
"""

__version__ = "0.2.0"
