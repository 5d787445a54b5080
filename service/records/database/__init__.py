"""How the database is reached, and what all tables share: transactions, pages, filters, rows as records."""
