"""Lists and exports of the operation log and the login log."""
