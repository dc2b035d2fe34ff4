"""A web server on a free loopback port, whose answers a test writes: `with httpd.serve({"/feed": Reply(b"…")}) as server`."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping


@dataclasses.dataclass
class Reply:
    """What a path answers. `pieces` come one after the other, without a Content-Length; `hang` waits for the end of all."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pieces: Callable[[], Iterator[bytes]] | None = None
    hang: bool = False


@dataclasses.dataclass
class Asked:
    path: str
    headers: dict[str, str]


Route = Reply | Callable[[Asked], Reply]


@dataclasses.dataclass
class Server:
    host: str
    port: int
    routes: dict[str, Route]
    asked: list[Asked] = dataclasses.field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    over: threading.Event = dataclasses.field(default_factory=threading.Event)
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}:{self.port}{path}"


@contextlib.contextmanager
def serve(
    routes: Mapping[str, Route] | None = None, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    server = Server(host, 0, dict(routes or {}))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
            self.over = False
            with server.lock:
                server.asked.append(asked)
                server.busy += 1
                server.busiest = max(server.busiest, server.busy)
            try:
                self.answer(asked)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                pass
            finally:
                self.ended()

        def ended(self):
            """The request is over; said before its last octets leave, which is when the client may go on."""
            with server.lock:
                server.busy -= not self.over
            self.over = True

        def answer(self, asked):
            route = server.routes.get(self.path.partition("?")[0], Reply(status=404))
            reply = route(asked) if callable(route) else route
            if reply.hang:
                server.over.wait(30)
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.pieces is None:
                if "Content-Length" not in reply.headers:
                    self.send_header("Content-Length", str(len(reply.body)))
                self.ended()
                self.end_headers()
                self.wfile.write(reply.body)
            else:
                self.end_headers()
                for piece in reply.pieces():
                    self.wfile.write(piece)

        def log_message(self, *_):
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_):
            pass

    with Quiet((host, 0), Handler) as httpd:
        server.port = httpd.server_address[1]
        if tls:
            httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            httpd.shutdown()
            thread.join()
