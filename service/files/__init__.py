"""Files: uploads, public links, the cleanup, and the object store that holds the bytes."""
