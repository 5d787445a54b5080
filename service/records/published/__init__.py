"""What publishing writes: lines, revisions with their past, who has which, and the bits of codes."""
