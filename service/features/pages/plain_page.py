"""The form of the plain pages of the service."""


def plain_page(title: str, body: str) -> bytes:
    """Return a page in the style of the plain pages of the service; ``title`` and ``body`` are HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
""".encode()
