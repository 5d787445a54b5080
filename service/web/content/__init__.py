"""Bodies and answers beyond one JSON value: tables, exports, uploads, downloads, long lists."""
