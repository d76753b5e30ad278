#!/usr/bin/env python3
"""A plug-in for guard: a cloud that guard has no adapter for (see plugin.md).

Copy it, and change cloud() and machine() to what your cloud speaks. This one has
machines at GET /machines and /machines/ID, and ends one at DELETE /machines/ID.
Standard output is for replies alone; print anything else to sys.stderr.
"""
import json, os, sys, urllib.error, urllib.parse, urllib.request

URL, TOKEN = sys.argv[1].rstrip("/"), os.environ["CLOUD_TOKEN"]


class Refusal(Exception):
    def __init__(self, kind, retry_after=None):
        self.error = {"kind": kind, "retry_after": retry_after}


def cloud(method, path):
    """One call to the cloud. What it refuses is told by its kind, and never as nothing."""
    request = urllib.request.Request(URL + path, method=method, headers={"Authorization": "Bearer " + TOKEN})
    lost = "uncertain" if method != "GET" else "unavailable"  # a write may have been done
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read() or "{}")
    except urllib.error.HTTPError as e:
        if e.code == 404 and b"no such machine" in e.read():
            raise Refusal("not_found")  # the cloud's own word; any other 404 is a proxy's, or a wrong URL
        if e.code in (502, 504):
            raise Refusal(lost)
        kinds = {401: "permission", 403: "permission", 409: "conflict", 429: "throttled"}
        wait = e.headers.get("Retry-After", "")
        raise Refusal(kinds.get(e.code, "unavailable"), int(wait) if wait.isdigit() else None)
    except (OSError, ValueError):  # no connection, it broke, or that was no JSON
        raise Refusal(lost)


def machine(m):
    """A machine in guard's words. Leave out what the cloud does not tell: unknown is never zero."""
    words = {"on": "running", "off": "stopped", "booting": "provisioning", "ending": "releasing"}
    return {
        "id": m["id"],
        "name": m.get("name"),
        "state": words.get(m["status"], m["status"]),  # a new word bills, and guard shows it
        "created": m.get("created"),
        "gpus": m.get("gpus"),
        "gpu_model": m.get("gpu"),
        "price": {"amount": m["price"], "currency": "CNY", "per": "hour", "for": "gpu"} if "price" in m else None,
    }


def path(args):
    return "/machines/" + urllib.parse.quote(args["id"], safe="")


def answer(call, args):
    if call == "hello":
        return {
            "calls": ["identity", "list", "get", "release"],
            "truths": {"immutable_ids": True, "release_lead": 120, "granularity": 1, "price_unit": "gpu"},
        }
    if call == "identity":
        return {"id": cloud("GET", "/account")["id"], "strong": True}
    if call == "list":
        return {"resources": [machine(m) for m in cloud("GET", "/machines")["machines"]], "complete": True}
    if call == "get":
        return {"resource": machine(cloud("GET", path(args)))}
    if call == "release":
        cloud("DELETE", path(args))
        return {"accepted": True}
    raise Refusal("unsupported")


for line in sys.stdin:
    ask = json.loads(line)
    reply = {"v": 1, "id": ask["id"]}
    try:
        reply["result"] = answer(ask["call"], ask["args"])
    except Refusal as e:
        reply["error"] = e.error
    print(json.dumps(reply), flush=True)
