"""Debian's nginx, where it is installed: with a plain proxy_pass, with what is shipped, or with nchan."""

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.ports import free_port
from tests.support.programs import installed
from tests.support.servers import running

INSTALLED = installed("nginx")

NCHAN = Path("/usr/lib/nginx/modules/ngx_nchan_module.so")
"""Where Debian's libnginx-mod-nchan puts it."""

_CONFIGURATION = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass {upstream};
      proxy_http_version 1.1;
    }}
  }}
}}
"""

_NCHAN = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
load_module {module};
worker_processes 1;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  tcp_nodelay on;
  keepalive_requests 1000000000;
  nchan_max_reserved_memory 256M;
  server {{
    listen 127.0.0.1:{port};
    location ~ ^/publish/([\\w-]+)$ {{
      nchan_publisher http;
      nchan_channel_id $1;
      nchan_message_buffer_length 1000;
      nchan_message_timeout 1m;
    }}
    location ~ ^/subscribe/([\\w-]+)$ {{
      nchan_subscriber eventsource;
      nchan_channel_id $1;
      nchan_subscriber_first_message newest;
    }}
  }}
}}
"""


PUBLISH = "/publish/{topic}"
SUBSCRIBE = "/subscribe/{topic}"
SUBSCRIBED = ": hi\n"
"""What a subscriber gets first, before any message."""


class Nchan(NamedTuple):
    """Publishes what is posted to PUBLISH to those who follow SUBSCRIBE as server-sent events."""

    port: int
    pid: int


SHIPPED = Path(__file__).resolve().parents[2] / "docker" / "nginx"
_REPLICA = re.compile(r"^  server app-\d+:8080 (.*;)\n", re.M)
_LISTEN = "  listen 8080;\n"
_LOGS = "/var/log/nginx/"
_CRITICAL = "error_log stderr crit;"


@asynccontextmanager
async def reverse_proxy(program: Path, upstream: str, folder: Path) -> AsyncIterator[str]:
    """The URL of an nginx that passes everything on to `upstream`."""
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(user=user, folder=folder, port=port, upstream=upstream))
    async with _running(program, ["-p", folder, "-c", configuration], port, folder):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def shipped_proxy(
    program: Path, replicas: Sequence[int], folder: Path, *, included: bool = False
) -> AsyncIterator[str]:
    """The URL of an nginx with the shipped files, in which only addresses and the folder of logs differ.

    `replicas` are ports of the loopback. With `included` all but gapless.conf is somebody else's nginx.
    """
    port = free_port()
    shipped = (SHIPPED / "nginx.conf").read_text()
    own = f"error_log {folder}/others.log;" if included else _CRITICAL
    assert shipped.count(_CRITICAL) == 1
    (folder / "nginx.conf").write_text(shipped.replace(_CRITICAL, own))
    (folder / "gapless.conf").write_text(
        _addressed((SHIPPED / "gapless.conf").read_text(), port, replicas, folder)
    )
    directives = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    arguments: list[str | Path] = ["-p", folder, "-c", folder / "nginx.conf", "-g", directives]
    async with _running(program, arguments, port, folder):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def nchan(program: Path, folder: Path) -> AsyncIterator[Nchan]:
    """An nginx with one worker that keeps messages in memory."""
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(_NCHAN.format(user=user, folder=folder, port=port, module=NCHAN))
    async with _running(program, ["-p", folder, "-c", configuration], port, folder) as pid:
        yield Nchan(port, pid)


def _addressed(text: str, port: int, replicas: Sequence[int], folder: Path) -> str:
    found = list(_REPLICA.finditer(text))
    assert len(found) == 2, "two replicas are shipped"
    assert (text.count(_LISTEN), text.count(_LOGS)) == (1, 2)
    servers = "".join(f"  server 127.0.0.1:{replica} {found[0][1]}\n" for replica in replicas)
    text = text[: found[0].start()] + servers + text[found[-1].end() :]
    return text.replace(_LISTEN, f"  listen 127.0.0.1:{port};\n").replace(_LOGS, f"{folder}/")


def _running(
    program: Path, arguments: Sequence[str | Path], port: int, folder: Path
) -> AbstractAsyncContextManager[int]:
    return running([program, *arguments], port, folder, logs=[folder / "error.log"])
