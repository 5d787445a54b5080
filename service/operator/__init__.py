"""An installation in the hands of its operator: stores, database, log, and who that is."""
