"""Import and export of users and roles as tables, and import of resources from OpenAPI documents."""
