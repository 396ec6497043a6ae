"""Requests made from docs/openapi.json: right ones, and of each wrong kind one for each route that can have it."""

import json
import random
import urllib.parse

from http_schema import BOUNDS, Words

# None of them is who asks: whoever is disabled or loses the tokens is one of these.
WORDS = [
    "", "lee", "ghost", "vision", "n1", "default", "normal", "low", "user", "pool", "running", "read", "a" * 300,
    "täglich", "ends here \u202e", "../x", "nodes,queue", "1", "-1", "0000000000000000",
]  # fmt: skip
SENSIBLE = {
    "node": "n1", "user": "lee", "reason": "tried", "by": "user", "scope": "read", "only_new": False,
    "ttl_ms": 3_600_000,
    "for_ms": 60_000, "deadline_ms": 60_000, "page_size": 3, "page_token": "",
    "since_ms": 0, "until_ms": 0, "rank": 0,
    "attempt": 0, "offset": 0, "fields": ["zone"], "name": "ghost", "priority": "normal", "team": "", "pool": "",
    "max_age_ms": 0, "states": [], "state": "", "dry_run": True,
}  # fmt: skip
RIGHT_ONES = 5  # of each route
OTHER_TYPES = {
    "integer": ["seven", "7", [], {}, 1.5, True, None],
    "number": ["half", [], {}, False],
    "string": [7, [], {}, True, None],
    "boolean": ["true", 1, [], None],
    "array": [{}, "x", 7, None],
    "object": [[], "x", 7, True],
}


class Request:
    def __init__(self, what, operation, verb, target, body=None, kind=None, headers=None, user="operator"):
        self.what, self.operation, self.verb, self.target = what, operation, verb, target
        self.body, self.kind, self.headers, self.user = body, kind, headers or {}, user
        self.statuses, self.field, self.reason = None, None, None  # what has to come; None: whatever is described

    def refused(self, *statuses, field=None, reason=None):
        self.statuses, self.field, self.reason = statuses, field, reason
        return self

    def __str__(self):
        body = b"" if self.body is None else self.body[:200]
        return f"{self.what}: {self.verb} {self.target[:200]} {body!r} by {self.user}"


class Requests:
    """Makes them. `jobs`: numbers of jobs that there are; `job_file`: one that can be submitted."""

    def __init__(self, description, seed, jobs, job_file):
        self.description, self.random, self.jobs, self.job_file = description, random.Random(seed), jobs, job_file

    def each_kind(self):
        """One of each wrong kind for each route, and some right ones."""
        for operation in self.description.operations:
            yield from (self.right(operation) for _ in range(RIGHT_ONES))
            yield from filter(None, (make(self, operation) for make in WRONG))

    def endless(self):
        while True:
            operation = self.random.choice(self.description.operations)
            make = Requests.right if self.random.random() < 0.4 else self.random.choice(WRONG)
            made = make(self, operation)
            if made:
                yield made

    # ---- right ones

    def value(self, schema, name=""):
        return self.description.make(schema, self.random, Words(WORDS, SENSIBLE), name=name)

    def path(self, operation):
        path = operation.path
        for parameter in operation.path_parameters():
            value = self.random.choice([*self.jobs, 999_999]) if parameter["name"] == "job_id" else None
            while value in (None, ""):
                value = self.value(parameter["schema"], parameter["name"])
            path = path.replace("{" + parameter["name"] + "}", urllib.parse.quote(str(value), safe=""))
        return path

    def target(self, operation):
        pairs = []
        for parameter in operation.query():
            if parameter["name"] in ("follow", "last_event_id") or parameter["name"].endswith("_at"):
                continue
            if not parameter.get("required") and self.random.random() < 0.6:
                continue
            value = (
                "nodes,queue" if parameter["name"] == "topics" else self.value(parameter["schema"], parameter["name"])
            )
            for one in value if isinstance(value, list) else [value]:
                pairs.append((parameter["name"], str(one).lower() if isinstance(one, bool) else one))
        return self.path(operation) + ("?" + urllib.parse.urlencode(pairs) if pairs else "")

    def right(self, operation):
        # What would take away who asks, and the authority that the connections are checked by, is not the operator's.
        user = "kim" if operation.id in ("RotateCa", "EndSession") else "operator"
        made = Request("right", operation, operation.verb, self.target(operation), user=user)
        if operation.takes_yaml and self.random.random() < 0.5:
            made.body, made.kind, made.target = self.job_file.encode(), "application/yaml", operation.path
        elif operation.takes_body and self.random.random() < 0.9:
            made.body, made.kind = json.dumps(self.value(operation.body)).encode(), "application/json"
        return made

    def bare(self, what, operation, query="", body=None, kind="application/json", **keywords):
        """Right but for what it is about."""
        verb = keywords.pop("verb", operation.verb)
        body = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        target = self.path(operation)
        if operation.path == "/v1/stream":
            query = "topics=nodes" + ("&" if query else "") + query
        target += "?" + query if query else ""
        return Request(what, operation, verb, target, body, kind if body is not None else None, **keywords)

    def some_field(self, operation, kinds):
        fields = [(n, s) for n, s in operation.body_fields() if self.kind_of(s) in kinds]
        return self.random.choice(fields) if fields else (None, None)

    def some_parameter(self, operation, kinds):
        found = [p for p in operation.query() if self.kind_of(p["schema"]) in kinds] if operation.is_rpc else []
        return self.random.choice(found) if found else None

    def kind_of(self, schema):
        schema = self.description.whole(schema)
        if "anyOf" in schema:
            return "message"
        kind = schema.get("type")
        return "nullable" if isinstance(kind, list) else kind

    # ---- wrong ones: each returns a request, or None where the route has nothing of the kind

    def unknown_parameter(self, operation):
        if not operation.is_rpc:
            return None
        return self.bare("unknown parameter", operation, "no_such=1").refused(400, field="no_such", reason="BAD_FIELD")

    def unknown_field(self, operation):
        if not operation.takes_body:
            return None
        made = self.bare("unknown field", operation, body={"no_such": 1})
        return made.refused(400, field="no_such", reason="BAD_FIELD")

    def other_type(self, operation):
        name, schema = self.some_field(operation, OTHER_TYPES)
        if name is None:
            return None
        value = self.random.choice(OTHER_TYPES[self.kind_of(schema)])
        return self.bare("other type", operation, body={name: value}).refused(400, field=name, reason="BAD_FIELD")

    def other_type_in_query(self, operation):
        parameter = self.some_parameter(operation, ("integer", "boolean"))
        if parameter is None:
            return None
        value = self.random.choice(["seven", "1.5", "[]", "%22%22", "0x10", "1e2", "+", "null"])
        made = self.bare("other type in the query", operation, f"{parameter['name']}={value}")
        return made.refused(400, field=parameter["name"])

    def out_of_range(self, operation):
        name, schema = self.some_field(operation, ("integer",))
        if name is None:
            return None
        low, high = BOUNDS[self.description.whole(schema)["format"]]
        value = self.random.choice([str(low - 1), str(high + 1), "1e300", "-1e300", "9" * 400])
        made = self.bare("out of range", operation, body=f'{{"{name}": {value}}}'.encode())
        return made.refused(400, field=None if len(value) > 300 else name)

    def out_of_range_in_query(self, operation):
        parameter = self.some_parameter(operation, ("integer",))
        if parameter is None:
            return None
        low, high = BOUNDS[parameter["schema"]["format"]]
        value = self.random.choice([low - 1, high + 1])
        return self.bare("out of range in the query", operation, f"{parameter['name']}={value}").refused(
            400, field=parameter["name"]
        )

    def huge_text(self, operation):
        name, _ = self.some_field(operation, ("string",))
        made = name and self.bare("huge text", operation, body={name: "x" * self.random.choice([70_000, 1 << 20])})
        return made or None

    def huge_address(self, operation):
        return self.bare("huge address", operation, "x=" + "y" * 8000).refused(414)

    def huge_head(self, operation):
        return self.bare("huge head", operation, headers={"X-Long": "x" * 17_000}).refused(431)

    def huge_body_announced(self, operation):
        made = self.bare("huge body announced", operation, body=b"", headers={"Content-Length": str(17 << 20)})
        return made.refused(413)

    def bad_utf8(self, operation):
        name, _ = self.some_field(operation, ("string",))
        if name is None:
            return None
        return self.bare(
            "bad UTF-8", operation, body=f'{{"{name}": "\udcff"}}'.encode(errors="surrogateescape")
        ).refused(400, reason="BAD_JSON")

    def bad_utf8_in_query(self, operation):
        parameter = self.some_parameter(operation, ("string",))
        made = parameter and self.bare("bad UTF-8 in the query", operation, parameter["name"] + "=%ff%fe")
        return made.refused(400, field=parameter["name"]) if made else None

    def bad_utf8_in_path(self, operation):
        for parameter in operation.path_parameters():
            target = operation.path.replace("{" + parameter["name"] + "}", "%ff%fe")
            if "{" not in target:
                made = Request("bad UTF-8 in the path", operation, operation.verb, target)
                return made.refused(400, field=parameter["name"].split(".")[-1])
        return None

    def other_verb(self, operation):
        verbs = self.description.verbs_of(operation.path) | {"HEAD", "OPTIONS"}
        verb = self.random.choice(sorted({"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} - verbs))
        return self.bare("other verb", operation, verb=verb).refused(405, reason="BAD_VERB")

    def other_content(self, operation):
        if not operation.takes_body:
            return None
        kind = self.random.choice(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
        return self.bare("other content", operation, body={}, kind=kind).refused(415, reason="MEDIA_TYPE")

    def body_of_get(self, operation):
        if operation.takes_body or not operation.is_rpc:
            return None
        return self.bare("body where none is taken", operation, body={}).refused(400)

    def parameter_twice(self, operation):
        parameter = self.some_parameter(operation, ("integer", "string", "boolean"))
        if parameter is None:
            return None
        name = parameter["name"]
        made = self.bare("parameter twice", operation, f"{name}=1&{name}=1")
        return made.refused(400, field=name, reason="BAD_QUERY")

    def broken_escape(self, operation):
        return self.bare("broken escape", operation, "a=%z1").refused(400, reason="BAD_TARGET")

    def many_parameters(self, operation):
        return self.bare("many parameters", operation, "&".join(f"p{i}=1" for i in range(200))).refused(400)

    def unknown_mask(self, operation):
        if not operation.has_mask():
            return None
        return self.bare("unknown mask", operation, "fields=no.such").refused(400, field="fields")

    def deep_json(self, operation):
        if not operation.takes_body:
            return None
        many = self.random.choice([40, 5_000, 200_000])
        body = self.random.choice([b"[" * many, b'{"a":' * many, b"[" * many + b"]" * many])
        return self.bare("deep JSON", operation, body=body).refused(400, reason="BAD_JSON")

    def key_twice(self, operation):
        name, _ = self.some_field(operation, ("string",))
        if name is None:
            return None
        made = self.bare("key twice", operation, body=f'{{"{name}": "x", "{name}": "x"}}'.encode())
        return made.refused(400, reason="BAD_JSON")

    def no_json(self, operation):
        if not operation.takes_body:
            return None
        body = self.random.choice(
            [b"{", b"{]", b"nul", b"{} {}", b'{"a" 1}', b"\0", b"NaN", b"'x'", b"{,}", b"\xef\xbb\xbf"]
        )
        return self.bare("no JSON", operation, body=body).refused(400, reason="BAD_JSON")

    def no_object(self, operation):
        if not operation.takes_body:
            return None
        return self.bare("no object", operation, body=self.random.choice([b"[]", b"null", b"7", b'"x"'])).refused(400)

    def nothing_said(self, operation):
        return self.bare("nothing said", operation, body=b"{}") if operation.takes_body else None

    def no_yaml(self, operation):
        if not operation.takes_yaml:
            return None
        body = self.random.choice(
            [b"[" * 5000, b"a: &a [*a]", b"\xff", b"nodes: x", b"run: 1\nrun: 2", b"{", b"---\n" * 9000]
        )
        return self.bare("no job file", operation, body=body, kind="application/yaml").refused(400)

    def no_token(self, operation):
        if operation.by_nobody:
            return None
        return self.bare("no token", operation, user=None).refused(401)

    def bad_token(self, operation):
        if operation.by_nobody:
            return None
        word = self.random.choice(["Bearer glim_0000000000000000_" + "a" * 43, "Bearer", "Basic a2lt", "Bearer \xff"])
        return self.bare("bad token", operation, user=None, headers={"Authorization": word}).refused(401)

    def unknown_path(self, operation):
        made = self.bare("unknown path", operation)
        made.target = operation.path.split("{")[0].rstrip("/") + self.random.choice(
            ["/no/such/path", "//", "/%2e%2e/x/y/z"]
        )
        return made.refused(404)


WRONG = [
    getattr(Requests, name)
    for name in (
        "unknown_parameter unknown_field other_type other_type_in_query out_of_range out_of_range_in_query "
        "huge_text huge_address huge_head huge_body_announced bad_utf8 bad_utf8_in_query bad_utf8_in_path "
        "other_verb other_content body_of_get parameter_twice broken_escape many_parameters unknown_mask deep_json "
        "key_twice no_json no_object nothing_said no_yaml no_token bad_token unknown_path"
    ).split()
]
