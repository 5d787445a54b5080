"""Portcullis: an administration back end whose every authorization decision is one Casbin decision.

Imports point down this list only: ``launch``, ``__main__``, ``features``, ``cli``, ``server``,
``laboratory``, ``backup`` and ``state_files``, ``operator``, ``app``, ``endpoints``, ``diagnosis``, ``web``,
``administration`` and ``evaluation``, then ``authn``, ``authz``, ``files`` and ``jobs`` (which do not know
one another), ``audit``, then ``records``, ``keyspace`` and ``embedded``, ``settings``, ``errors`` and
``kernel``.
``client`` imports none of them.
"""

__version__ = "0.3.0.dev0"
