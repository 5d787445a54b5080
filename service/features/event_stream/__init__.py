"""Events about the caller's own account, as a stream for front ends."""
