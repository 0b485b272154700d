"""What the tests of clients share: a real `madang serve` that can be killed and started again, the same person on
another device, and a way to the server that can be cut."""

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

BINARY = os.environ.get("MADANG_BIN")
if not BINARY:
    raise SystemExit("MADANG_BIN names no program; `make test SUITES=clients` does")

# The longest time that a state may take, in seconds.
PATIENCE = 20

# Completions as tests use them.
SEARCH = {"name": "search_catalog", "arguments": {"category": "sleep", "limit": 1}}
ADD = {
    "name": "add_habit",
    "arguments": {"protocol_id": "morning-light", "frame_level": "L2", "framed_text": "매일 아침에 한다"},
}
USAGE = {"prompt_tokens": 5, "cached_tokens": 3, "completion_tokens": 2}
LONG = {"text": "one two three four five six seven eight", "delay_ms": 600_000}


def says(text, delay_ms=0):
    return {"text": text, "delay_ms": delay_ms}


def calls(*tool_calls):
    return {"tool_calls": list(tool_calls)}


# Ports that the system gives to no one by itself. Of one that it chose, it gives the number away while the server is
# down, and then the server cannot come back. Each process begins elsewhere.
PORTS = itertools.count(os.getpid() * 16)


def next_port():
    while True:
        port = 20_000 + next(PORTS) % 8_000
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


# The servers that run.
RUNNING = set()


def end_early(*_):
    """Leaves no server behind where the suite is ended."""
    for server in list(RUNNING):
        server.__exit__()
    os._exit(143)


signal.signal(signal.SIGTERM, end_early)


class ServerTest(unittest.TestCase):
    """A test that starts servers, which end with it."""

    maxDiff = None

    def serve(self, script, *options, scope="chat,decide"):
        server = self.enterContext(Server(options))
        server.start(script, scope)
        return server

    def serve_behind_way(self, script):
        """Starts a server, and a way to it that can be cut."""
        way = self.enterContext(Way())
        server = self.serve(script, "--public-url", way.origin)
        way.port = server.port
        return server, way


class Server(contextlib.AbstractContextManager):
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="madang-clients-")
        self.path = Path(self.folder.name)
        self.env = {**os.environ, "XDG_CONFIG_HOME": self.folder.name}
        self.child = None

    def start(self, script, scope):
        tokens = ["token", "add", "kim", "--scope", scope, "--tokens", self.path / "tokens"]
        said = subprocess.run([BINARY, *tokens], env=self.env, check=True, capture_output=True, text=True).stdout
        self.token = re.search(r"mdg_[\w-]{43}", said)[0]
        self._run(script, next_port())

    def _run(self, script, port):
        file = self.path / "script.jsonl"
        file.write_text("\n".join(map(json.dumps, script)))
        where = ["--db", self.path / "madang.db", "--tokens", self.path / "tokens", "--listen", f"127.0.0.1:{port}"]
        words = [BINARY, "serve", "--script", file, *where, "--locale", "en", *self.options]
        self.child = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        RUNNING.add(self)
        line = self.child.stdout.readline()
        found = re.fullmatch(r"listening (http://127\.0\.0\.1:(\d+))\n", line)
        assert found, f"the first line names no address: {line!r}"
        self.origin, self.port = found[1], int(found[2])

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()
        self.child = None

    def restart(self, script):
        """Starts it again on the same port. The script begins anew."""
        self._run(script, self.port)

    def __exit__(self, *_):
        if self.child:
            self.kill()
        RUNNING.discard(self)
        self.folder.cleanup()

    def ask(self, path, body=None, method=None):
        """Asks the server itself, as the same person on another device does."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.origin}/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, json.loads(response.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or "null")

    def decide(self, decision):
        """Decides on another device, once the person is asked."""
        request = until("a request is open", lambda: self.ask("v1/inbox")[1]["approval_requests"])[0]
        body = {"digest": request["digest"], "decision": decision}
        status, answer = self.ask(f"v1/approvals/{request['call']}/decision", body)
        assert status == 200, answer

    def chats(self):
        return [one["session"] for one in self.ask("v1/sessions")[1]["sessions"]]

    def stored(self, chat):
        """Gives the chat as it is stored, by role and text or tool."""
        messages = self.ask(f"v1/sessions/{chat}")[1]["messages"]
        return [f"{one['role']}: {one.get('text') or one.get('name') or one.get('notice', '')}" for one in messages]

    def begun(self):
        """Waits until a turn has begun, and gives its chat."""
        return until("a turn has begun", lambda: [chat for chat in self.chats() if self.stored(chat)])[0]

    def ledger(self):
        return self.ask("v1/ledger")[1]["calls"]


class Way(contextlib.AbstractContextManager):
    """Carries bytes to a server, until it is cut."""

    def __init__(self):
        self.port = None
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.sockets += [near, far]
                for one, other in [(near, far), (far, near)]:
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one, other):
        with contextlib.suppress(OSError):
            while piece := one.recv(65536):
                other.sendall(piece)
            other.shutdown(socket.SHUT_WR)

    def cut(self):
        """Cuts all connections, as a network that goes away does."""
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self.sockets = []

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()


def until(what, look):
    """Waits until this holds, and gives what it gave."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, f"it takes too long until {what}"
        time.sleep(0.01)
    return found
