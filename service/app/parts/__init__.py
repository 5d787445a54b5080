"""The parts of a worker by concern, each made from the settings and the parts that it uses.

A part is a frozen dataclass of long-lived objects, and ``make`` of its file puts them together. Making them
connects to nothing. ``service.app.container`` makes them in order; nothing else does.
"""
