"""Bodies and answers that are more than one JSON value: tables, exports, uploads, downloads, long lists."""
