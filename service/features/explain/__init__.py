"""Questions to the policy: access of users, reasons, effects of changes, and a report."""
