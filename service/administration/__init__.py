"""Users, roles and menus: who may change whose rights, and what follows at once from a change.

Whoever changes rights holds them: see ``delegation``. Somebody who may do everything always remains: see
``administrators``. Knows ``authn``, ``authz`` and ``records``; knows neither HTTP nor SQL.
"""
