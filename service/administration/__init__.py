"""Users, roles, menus and resources: authority to change rights, and the immediate effects of changes.

Callers can change only rights that they hold: see ``delegation``. An enabled user with all rights always
remains: see ``administrators``. ``jobs`` lists the scheduled work. Imports ``authn``, ``authz`` and
``records``, and for that list ``files`` and ``oplog``; contains neither HTTP nor SQL.
"""
