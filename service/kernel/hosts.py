"""Hosts, by their name or address."""

from ipaddress import ip_address


def is_local(host: str) -> bool:
    """Return whether only this machine reaches the address ``host``."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
