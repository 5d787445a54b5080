"""Decisions beside a service, as a library: the names that programs of others import.

``docs/guides/decisions-beside-a-service.md`` has an example. ``pdp.pyi`` has their types, for type checkers.
"""

from service.kernel.feature import sole

_library = sole("decision-point")

AtLeast = _library.AtLeast
DecisionPoint = _library.DecisionPoint
PdpSettings = _library.PdpSettings
decision_point = _library.decision_point
point_of = _library.point_of

__all__ = ["AtLeast", "DecisionPoint", "PdpSettings", "decision_point", "point_of"]
