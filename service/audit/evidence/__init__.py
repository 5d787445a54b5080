"""Evidence for auditors: what was decided, by whom and why, in an archive that can be verified without us."""
