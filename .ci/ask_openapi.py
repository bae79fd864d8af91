"""The OpenAPI document of a running process: valid by the official schema, and what routes answer
is what it says. Run by `clients`, as `ask_clients.py` is.
"""

import http.client
import json
import sys
import tempfile

import jsonschema
from openapi_spec_validator import OpenAPIV31SpecValidator

from tower import TOKEN, Client, Tally, Tower

HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
# what is asked with a body: method, path, its address, body, the status that is wanted
ASKED = [
    ("post", "/api/auth/login", None, {"token": TOKEN}, 204),
    ("post", "/api/auth/login", None, {"token": "wrong"}, 401),
    ("post", "/api/auth/login", None, {"key": TOKEN}, 400),
    ("post", "/api/auth/logout", None, None, 204),
    ("post", "/api/route/explain", None, {"model": "demo"}, 200),
    ("post", "/api/route/explain", None, {"model": "nobody/nothing"}, 404),
    ("post", "/api/actors/{kind}/{id}/messages", "/api/actors/connection/demo-a-1/messages", {"message": "cool", "for": "1h"}, 200),
    ("post", "/api/actors/{kind}/{id}/messages", "/api/actors/provider/demo-b/messages", {"message": "trip", "for": "1h"}, 200),
    ("post", "/api/actors/{kind}/{id}/messages", "/api/actors/provider/demo-b/messages", {"message": "sing"}, 400),
    ("post", "/api/providers", None, {"provider": "claude-a", "id": "made", "apiKey": "sk-0123456789abcdef", "rateLimitOverrides": {"rpd": 5}}, 201),
    ("patch", "/api/providers/{id}", "/api/providers/made", {"priority": 7, "maxConcurrent": 2}, 200),
    ("post", "/api/providers", None, {"provider": "claude-a", "priority": "high"}, 400),
    ("patch", "/api/providers", None, {"ids": ["made", "nobody"], "isActive": True}, 200),
    ("patch", "/api/providers", None, {"ids": [], "isActive": True}, 400),
    ("post", "/api/providers/import", None, {"entries": [{"provider": "claude-a", "name": "rows", "apiKey": "sk-0123456789abcdef", "rateLimitOverrides": {"rpd": 5}}, {"provider": "nobody"}]}, 200),
    ("post", "/api/providers/bulk", None, {"provider": "claude-a", "entries": [{"name": "row", "apiKey": "sk-0123456789abcdef"}]}, 200),
    ("post", "/api/providers/{id}/test", "/api/providers/claude-a-1/test", {"model": "steady"}, 200),
    ("post", "/api/provider-nodes", None, {"id": "box", "auth": "local", "format": "openai", "baseUrl": "http://127.0.0.1:9/v1", "headers": {"x-team": "blue"}}, 201),
    ("patch", "/api/provider-nodes/{id}", "/api/provider-nodes/box", {"timeouts": {"connect": "2s"}}, 200),
    ("post", "/api/keys", None, {"name": "k", "rateLimits": [{"limit": 60, "window": "1m"}], "budgets": [{"limitUsd": 20, "window": "month"}]}, 201),
    ("patch", "/api/keys/{id}", "/api/keys/k", {"budgets": None, "accessSchedule": {"from": "08:00", "until": "18:00"}}, 200),
    ("post", "/api/quota-pools", None, {"name": "pool", "connections": ["demo-a-1", "demo-a-2"], "allocations": [{"keyId": "k", "weight": 50}], "limits": [{"unit": "requests", "window": "5h", "limit": 100}]}, 201),
    ("post", "/api/combos", None, {"name": "turns", "strategy": "round-robin", "targets": ["demo-a/steady", {"model": "demo-b/steady", "weight": 3}]}, 201),
    ("patch", "/api/combos/{id}", "/api/combos/turns", {"config": {"maxRetries": 2, "comboTimeoutMs": "30s"}}, 200),
    ("post", "/api/combos", None, {"name": "again", "models": ["turns"]}, 201),
    ("post", "/api/model-combo-mappings", None, {"pattern": "gpt-*", "comboId": "turns"}, 201),
    ("post", "/api/models/alias", None, {"from": "fast", "to": "turns"}, 200),
    ("post", "/api/rate-limits", None, {"connectionId": "demo-a-2", "enabled": True}, 200),
    ("patch", "/api/resilience", None, {"providerBreaker": {"apikey": {"failureThreshold": 9}}}, 200),
    ("patch", "/api/settings", None, {"sessionAffinityTtlMs": 60000}, 200),
    ("patch", "/api/settings", None, {"noSuchThing": 1}, 400),
    ("post", "/v1/chat/completions", None, {"model": "demo-b/steady"}, 503),
    ("post", "/v1/chat/completions", None, {"model": "turns"}, 200),
    ("post", "/v1/chat/completions", None, {"model": "demo-a/status-404-retry-60"}, 404),
    ("post", "/v1/messages", None, {"model": "claude-a/steady", "max_tokens": 1, "messages": []}, 200),
    ("post", "/v1/messages", None, {"model": "nobody/nothing"}, 404),
    ("post", "/v1/session-leases", None, {"action": "status", "generation": 1}, 401),
    ("post", "/api/resilience/cooldowns", None, {"connectionIds": ["nobody"]}, 200),
    ("delete", "/api/resilience/model-cooldowns", None, {"provider": "demo-b", "model": "m"}, 200),
    ("delete", "/api/keys/{id}", "/api/keys/nobody", None, 404),
]
# addresses of what varies, to look at
LOOKED_AT = {
    "/v1/models/{id}": ["/v1/models/turns"],
    "/api/actors/{kind}/{id}": ["/api/actors/provider/demo-b", "/api/actors/connection/demo-a-1", "/api/actors/router/router", "/api/actors/store/store"],
    "/api/providers/{id}": ["/api/providers/made", "/api/providers/demo-a-1"],
    "/api/provider-nodes/{id}": ["/api/provider-nodes/box", "/api/provider-nodes/demo-a"],
    "/api/keys/{id}": ["/api/keys/k"],
    "/api/quota-pools/{id}": ["/api/quota-pools/pool"],
    "/api/combos/{id}": ["/api/combos/turns", "/api/combos/demo"],
    "/api/model-combo-mappings/{id}": ["/api/model-combo-mappings/gpt"],
}


# its answer has no end: the head and the first line are looked at
ENDLESS = "/api/events"


class Document:
    """The document, and answers held against it."""

    def __init__(self, whole, tally):
        self.whole, self.tally = whole, tally

    def faults(self, schema, value):
        """What is wrong with a value, if something is."""
        whole = {**schema, "components": self.whole["components"]}
        checker = jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
        return [f"{error.json_path}: {error.message}"[:300] for error in checker.iter_errors(value)]

    def holds(self, operation, method, address, status, headers, body):
        """The answer is one that the operation names, and has its shape."""
        claim = f"{method.upper()} {address}: {status}"
        described = operation["responses"].get(str(status))
        if not self.tally.check(described is not None, f"{claim} is in the document", body[:200]):
            return
        kind = headers.get("content-type", "").split(";")[0]
        content = described.get("content", {})
        if not self.tally.check(kind in content if body else not content, f"{claim} has a type it names", kind):
            return
        if body and kind == "application/json":
            faults = self.faults(content[kind]["schema"], json.loads(body))
            self.tally.check(not faults, f"{claim} has the shape it names", faults[:3])


def begin(tower, path):
    """Status, headers and first line of an answer without an end."""
    connection = http.client.HTTPConnection(*tower.address, timeout=10)
    try:
        connection.request("GET", path, headers=HEADERS)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.readline()
    finally:
        connection.close()


def look(document, client, path, item):
    for address in LOOKED_AT.get(path, [path]):
        status, headers, body = client.ask("GET", address, headers=HEADERS)
        document.tally.check(status == 200, f"GET {address} is there", f"{status} {body[:200]}")
        document.holds(item["get"], "get", address, status, headers, body)
        if "head" in item:
            status, headers, body = client.ask("HEAD", address, headers=HEADERS)
            document.tally.check(status == 200 and not body, f"HEAD {address} is there", f"{status} {body[:200]}")
            document.holds(item["head"], "head", address, status, headers, body)


def ask(document, client, asked):
    method, path, address, body, wanted = asked
    operation = document.whole["paths"][path][method]
    sent = None if body is None else json.dumps(body).encode()
    status, headers, answer = client.ask(method.upper(), address or path, sent, HEADERS)
    document.tally.check(status == wanted, f"{method} {address or path} {body}", f"{status} {answer[:300]}")
    document.holds(operation, method, address or path, status, headers, answer)
    if body is not None and status < 300:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        faults = document.faults(schema, body)
        document.tally.check(not faults, f"{method} {address or path} takes such a body", faults[:3])


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="switchtower-openapi-") as folder:
        tower = Tower(folder).start().wait_ready()
        try:
            client = Client(tower.address)
            _, _, body = client.ask("GET", "/api/openapi.json", headers=HEADERS)
            document = Document(json.loads(body), tally)
            faults = [error.message[:300] for error in OpenAPIV31SpecValidator(document.whole).iter_errors()]
            tally.check(not faults, "it is an OpenAPI 3.1 document", faults[:3])
            for schema in document.whole["components"]["schemas"].values():
                jsonschema.Draft202012Validator.check_schema(schema)
            for asked in ASKED:
                ask(document, client, asked)
            for path, item in document.whole["paths"].items():
                if path == ENDLESS:
                    status, headers, line = begin(tower, path)
                    document.holds(item["get"], "get", path, status, headers, line)
                elif "get" in item:
                    look(document, client, path, item)
        finally:
            tower.stop()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
