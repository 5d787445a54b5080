"""The state of the service itself: ``/api/system``."""
