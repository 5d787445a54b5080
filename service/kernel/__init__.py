"""Plain values without I/O: who calls, which codes are held, devices, times.

Knows nothing of stores, HTTP or Casbin; everything else may import it.
"""
