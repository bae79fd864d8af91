"""What the scripts of this folder share: a switchtower process, a client, times, a tally.

Python's standard library only. The binary is $SWITCHTOWER_BIN, else the debug build of this clone.
Everything is on the loopback and on free ports; files are in a scratch folder that goes at the end.
"""

import datetime
import hashlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = "ci-admin-token"
START_LIMIT_S = 30
ANSWER_LIMIT_S = 60


def binary():
    """The switchtower to run."""
    return os.environ.get("SWITCHTOWER_BIN") or str(ROOT / "target" / "debug" / "switchtower")


def now_ms():
    """Epoch milliseconds."""
    return time.time() * 1000


def millis(text):
    """Epoch milliseconds of an RFC 3339 time in UTC, None of null."""
    if text is None:
        return None
    whole, _, rest = text.rstrip("Z").partition(".")
    at = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return round(at.timestamp() * 1000 + (float("0." + rest) * 1000 if rest else 0))


def sha256(body):
    """As the log of the scripted upstream writes it."""
    return hashlib.sha256(body).hexdigest()


class Tally:
    """Counts claims that held and claims that did not."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, holds, claim, evidence=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {claim} {evidence}".rstrip(), flush=True)
        return holds

    def end(self):
        """The last line, and the exit code."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


class Client:
    """One kept connection."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(*address, timeout=ANSWER_LIMIT_S)

    def ask(self, method, path, body=None, headers=None):
        """Status, headers in lower case, body."""
        self.connection.request(method, path, body=body, headers=headers or {})
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def close(self):
        self.connection.close()


class Tower:
    """`switchtower serve` with the shipped config in a folder of its own."""

    def __init__(self, folder, **settings):
        """`settings`: SWITCHTOWER__ variables without their prefix."""
        self.folder = pathlib.Path(folder)
        config = self.folder / "config.toml"
        config.write_text((ROOT / "config.toml").read_text())
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SWITCHTOWER", "OMNIROUTE"))},
            "SWITCHTOWER_ADMIN_TOKEN": TOKEN,
            "SWITCHTOWER__SERVER__LISTEN": "127.0.0.1:0",
            "RUST_LOG": "warn",
            **{f"SWITCHTOWER__{name}": str(value) for name, value in settings.items()},
        }
        self.command = [binary(), "serve", "--config", str(config)]
        self.process = self.address = self.demo = None

    def start(self):
        """Returns when it says where it listens; raises with its last words if it does not."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        self.address = self._said("listening on http://")
        self.demo = self._said("demo upstream on http://")
        return self

    def _said(self, prefix):
        line = self.process.stdout.readline().decode()
        if not line.startswith(prefix):
            self.process.kill()
            raise RuntimeError(f"it said {line!r}, not {prefix!r}; its log ends with:\n{self.log_end()}")
        host, port = line[len(prefix):].strip().rsplit(":", 1)
        return host, int(port)

    def log_end(self):
        """The last lines of its log."""
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-20:])

    def wait_ready(self):
        """Polls /readyz until it is 200."""
        client, deadline = Client(self.address), time.monotonic() + START_LIMIT_S
        while client.ask("GET", "/readyz")[0] != 200:
            if time.monotonic() > deadline:
                raise RuntimeError(f"never ready:\n{self.log_end()}")
            time.sleep(0.005)
        client.close()
        return self

    def operator(self):
        """A client of the management API."""
        return Operator(self.address)

    def upstream_log(self):
        """Every request that the scripted upstream got."""
        client = Client(self.demo)
        requests = json.loads(client.ask("GET", "/demo/log")[2])["requests"]
        client.close()
        return requests

    def clear_upstream_log(self):
        client = Client(self.demo)
        client.ask("DELETE", "/demo/log")
        client.close()

    def kill(self):
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; its exit code."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.terminate()
        try:
            return self.process.wait(40)
        finally:
            self.process.stdout.close()


class Operator(Client):
    """The management API."""

    def get(self, path):
        status, _, body = self.ask("GET", path, headers={"authorization": f"Bearer {TOKEN}"})
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body[:300]!r}")
        return json.loads(body)

    def post(self, path, value):
        return self.send("POST", path, value)

    def send(self, method, path, value, headers=None):
        """Changes something; `headers`: instead of the operator's own."""
        headers = headers or {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        status, _, body = self.ask(method, path, json.dumps(value).encode(), headers)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {status} {body[:300]!r}")
        return json.loads(body)
