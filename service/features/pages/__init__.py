"""Pages of the API, of its problem codes and of the guide, served by the service itself."""
