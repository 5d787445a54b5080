"""Plain values and small tools without I/O, which everything else may import."""
