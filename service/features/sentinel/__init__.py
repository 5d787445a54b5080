"""A session store behind Sentinel: its primary is found, and followed."""
