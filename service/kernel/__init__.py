"""Plain values and small tools without I/O: callers, permission codes, devices, times.

Knows nothing of stores, HTTP or Casbin; everything else may import it.
"""
