"""Users, roles, menus and resources: who may change whose rights, and the immediate effects of changes.

Callers can change only rights that they hold: see ``delegation``. An enabled user with all rights always
remains: see ``administrators``. ``jobs`` lists the work that comes back. Knows ``authn``, ``authz`` and
``records``, and for that list ``files`` and ``oplog``; knows neither HTTP nor SQL.
"""
