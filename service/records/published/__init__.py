"""Results of publishing: lines, revisions with their past, the workers' revisions, and the bits of codes."""
