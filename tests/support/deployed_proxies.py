"""The proxies of deploy/caddy and deploy/nginx, run at ports of loopback before nodes that tests start."""

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.ports import free_port
from tests.support.proxies import program
from tests.support.waiting import eventually_here

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CADDYFILE = (DEPLOY / "caddy" / "Caddyfile").read_text(encoding="utf-8")
NGINX = (DEPLOY / "nginx" / "portcullis.conf").read_text(encoding="utf-8")
KINDS = ("caddy", "nginx")
HOST = "access.example.com"
_NODE = re.compile(r"^( *server )127\.0\.0\.1:8080( .*;)$", re.MULTILINE)


@dataclass(frozen=True)
class Deployed:
    """A running proxy: its ports without and with TLS, and what trusts its certificate."""

    plain: int
    port: int
    context: ssl.SSLContext


@asynccontextmanager
async def deployed(kind: str, folder: Path, nodes: Sequence[int]) -> AsyncIterator[Deployed]:
    """Run a proxy before the nodes at these ports until the block ends; its output is in ``proxy.log``."""
    path = program(kind)
    _write_certificate(folder)
    plain, port = free_port(), free_port()
    words = _with_caddy(folder, plain, port) if kind == "caddy" else _with_nginx(folder, plain, port, nodes)
    variables = {
        "PORTCULLIS_HOST": HOST,
        "PORTCULLIS_TLS": "internal",
        "PORTCULLIS_UPSTREAM": " ".join(f"127.0.0.1:{node}" for node in nodes),
    }
    with (folder / "proxy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            path,
            *words,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield Deployed(plain, port, await _trusted(kind, folder))
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _write_certificate(folder: Path) -> None:
    """Write ``chain.pem`` and ``key.pem`` for ``HOST``."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "chain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def _with_caddy(folder: Path, plain: int, port: int) -> list[str]:
    """Write the Caddyfile, for other ports of loopback; return the words that run Caddy."""
    options = f"{{\n\thttp_port {plain}\n\thttps_port {port}\n\tdefault_bind 127.0.0.1\n"
    changed = CADDYFILE.replace("{\n", options, 1)
    (folder / "Caddyfile").write_text(changed, encoding="utf-8")
    return ["run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def _with_nginx(folder: Path, plain: int, port: int, nodes: Sequence[int]) -> list[str]:
    """Write the configuration, for other ports of loopback; return the words that run nginx."""
    text = re.sub(r"listen \[::\]:.*\n", "", NGINX)
    text = _NODE.sub(lambda line: "\n".join(f"{line[1]}127.0.0.1:{node}{line[2]}" for node in nodes), text)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};")
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}").replace("/etc/nginx/tls", str(folder))
    (folder / "portcullis.conf").write_text(text, encoding="utf-8")
    main = "pid nginx.pid;\nevents {}\nhttp {\n  access_log off;\n  include portcullis.conf;\n}\n"
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    return ["-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]


async def _trusted(kind: str, folder: Path) -> ssl.SSLContext:
    """Return what trusts the proxy: Caddy's own authority, once it has made one, or our certificate."""
    root = folder / ".local/share/caddy/pki/authorities/local/root.crt"
    if kind == "caddy":
        assert await eventually_here(root.exists), (folder / "proxy.log").read_text()
    context = ssl.create_default_context(cafile=str(root if kind == "caddy" else folder / "chain.pem"))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
