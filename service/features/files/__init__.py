"""Files: uploads, downloads, public links and their cleanup."""
