"""How the schema came to be, step by step; run by ``service.records.installation.migrate``."""
