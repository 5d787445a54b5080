"""A session store behind Sentinel, with its primary looked up and followed."""
