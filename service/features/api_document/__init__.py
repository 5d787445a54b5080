"""The document of the API: made from the metadata and types of all operations, and served."""
