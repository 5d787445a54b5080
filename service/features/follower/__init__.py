"""Followers: decision points beside services, and the hub that they follow."""
