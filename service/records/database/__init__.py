"""Connections and transactions, and the tools that all tables share: pages, filters, row mappers."""
