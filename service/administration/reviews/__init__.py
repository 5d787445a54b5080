"""Reviews: whether assignments of roles are still needed, who says so, and what is taken away."""
