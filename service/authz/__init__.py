"""Authorization: the model, the policy lines, and the one enforcer that decides from them.

Owns ``model.conf``, ``policies/`` and all use of Casbin. A request is decided in this order:

1. ``paths.canonical`` refuses a path that the router and the resource index could read differently;
2. ``Policy.resource_for`` names the object of the resource layer: ``@no-session`` for a caller without
   a session, else the most specific registered resource that fits, else ``@unregistered``;
3. ``Policy.decide("resource", …)`` and then ``Policy.decide("endpoint", …)``, both on the one ``Policy``
   from ``LivePolicy.current``. Both must allow. No line, no permission.

Knows callers only as held codes. Must not know HTTP, tokens, sessions or endpoint classes; reads and writes
stored policy through ``service.records`` alone. Nothing outside this package may import casbin.
"""
