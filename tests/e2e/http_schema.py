"""What docs/openapi.json says: its operations, whether a value is as a schema has it, and values that are. Only what
the file uses of JSON Schema: a word that is unknown here is an error, not something to pass over."""

import base64
import binascii
import re

BOUNDS = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
POINT = re.compile(r"[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")
KNOWN = {
    "$ref", "additionalProperties", "allOf", "anyOf", "const", "contentEncoding", "description", "enum", "format",
    "items", "maximum", "minimum", "properties", "required", "type",
}  # fmt: skip
VERBS = ("get", "post", "put", "delete")


def type_of(value):
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


class Words:
    def __init__(self, texts, sensible):
        self.texts, self.sensible = texts, sensible


class Operation:
    def __init__(self, description, verb, path, node):
        self.description, self.verb, self.path, self.node = description, verb.upper(), path, node
        self.id = node["operationId"]
        self.is_rpc = "x-glim-method" in node
        self.parameters = [description.resolve(parameter) for parameter in node.get("parameters", [])]
        content = node.get("requestBody", {}).get("content", {})
        self.takes_body, self.takes_yaml = bool(content), "application/yaml" in content
        self.body = content.get("application/json", {}).get("schema")
        ((self.answer_type, answer),) = node["responses"]["200"]["content"].items()
        self.answer = answer["schema"]
        self.is_document = self.answer_type == "application/json"
        self.by_nobody = {} in node["security"]

    def query(self):
        return [p for p in self.parameters if p["in"] == "query" and p["name"] != "fields"]

    def has_mask(self):
        return any(p["in"] == "query" and p["name"] == "fields" for p in self.parameters)

    def path_parameters(self):
        return [p for p in self.parameters if p["in"] == "path"]

    def body_fields(self):
        return sorted((self.body or {}).get("properties", {}).items())


class Description:
    def __init__(self, document):
        self.document = document
        self.operations = [
            Operation(self, verb, path, node)
            for path, item in document["paths"].items()
            for verb, node in item.items()
            if verb in VERBS
        ]

    def verbs_of(self, path):
        return {verb.upper() for verb in self.document["paths"][path]}

    def resolve(self, node):
        while "$ref" in node:
            at = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            node = at
        return node

    # ---- whether a value is as the schema says

    def faults(self, value, schema, place=""):
        """What is wrong, in words. An answer's object has the fields of its schema and no others."""
        schema = self.whole(schema)
        unknown = set(schema) - KNOWN
        if unknown:
            return [f"{place}: nothing here knows {sorted(unknown)}"]
        if "anyOf" in schema:
            each = [self.faults(value, option, place) for option in schema["anyOf"]]
            return [] if [] in each else min(each, key=len)
        if "const" in schema and value != schema["const"]:
            return [f"{place}: {value!r} is not {schema['const']!r}"]
        if "enum" in schema and value not in schema["enum"]:
            return [f"{place}: {value!r} is none of {schema['enum']}"]
        wanted = schema.get("type")
        wanted = wanted if isinstance(wanted, list) or wanted is None else [wanted]
        is_a = type_of(value)
        if wanted and is_a not in wanted and not (is_a == "integer" and "number" in wanted):
            return [f"{place}: {value!r} is no {' or '.join(wanted)}"]
        return self._parts(value, schema, place)

    def _parts(self, value, schema, place):
        if isinstance(value, bool) or value is None:
            return []
        if isinstance(value, int):
            low, high = BOUNDS.get(schema.get("format"), (value, value))
            return (
                [] if max(low, schema.get("minimum", low)) <= value <= high else [f"{place}: {value} is out of range"]
            )
        if isinstance(value, str):
            return self._text(value, schema, place)
        if isinstance(value, list):
            return [f for i, item in enumerate(value) for f in self.faults(item, schema["items"], f"{place}[{i}]")]
        if isinstance(value, dict):
            return self._object(value, schema, place)
        return []

    def _text(self, value, schema, place):
        if schema.get("format") == "date-time" and not POINT.fullmatch(value):
            return [f"{place}: {value!r} is no point in time"]
        if schema.get("contentEncoding") == "base64":
            try:
                base64.b64decode(value, validate=True)
            except binascii.Error:
                return [f"{place}: {value!r} is not base64"]
        return []

    def _object(self, value, schema, place):
        fields, rest = schema.get("properties"), schema.get("additionalProperties")
        if fields is None and rest is None:
            return []  # any object at all, as the description itself
        found = [f"{place}: there is no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            below = (fields or {}).get(name, rest)
            if below is None or below is False:
                found.append(f"{place}.{name}: the description has no such field")
            else:
                found += self.faults(item, below, f"{place}.{name}")
        return found

    def whole(self, schema):
        """The schema that is meant; of allOf all in one."""
        schema = self.resolve(schema)
        if "allOf" not in schema:
            return schema
        whole = {"type": "object", "properties": {}, "required": []}
        for part in map(self.whole, schema["allOf"]):
            whole["properties"].update(part.get("properties", {}))
            whole["required"] += part.get("required", [])
        return whole

    # ---- values that are as the schema says

    def make(self, schema, random, words, depth=0, name=""):
        """`words`: of texts; as a rule a field has what `words.sensible` says of its `name`."""
        if name in words.sensible and random.random() < 0.7:
            return words.sensible[name]
        schema = self.whole(schema)
        if "anyOf" in schema:
            schema = self.whole(schema["anyOf"][0] if depth < 4 and random.random() < 0.7 else {"type": "null"})
        if "enum" in schema:
            return random.choice(schema["enum"])
        kind = schema.get("type", "object")
        if isinstance(kind, list):
            kind = kind[0] if random.random() < 0.8 else "null"
        if kind == "object":
            return self._make_object(schema, random, words, depth)
        if kind == "array":
            many = random.choice([0, 1, 1, 2]) if depth < 5 else 0
            return [self.make(schema["items"], random, words, depth + 1) for _ in range(many)]
        if kind == "integer":
            low, high = BOUNDS[schema["format"]]
            return random.choice([0, 1, 1, 2, 3, 8, 1000, 60_000, low, high, random.randint(low, high)])
        if kind == "number":
            return random.choice([0, 0.5, -1, 1e9])
        if kind == "boolean":
            return random.random() < 0.5
        return None if kind == "null" else self._make_text(schema, random, words)

    def _make_object(self, schema, random, words, depth):
        made = {}
        for name, below in schema.get("properties", {}).items():
            if random.random() < 0.5 and name.removesuffix("_ms") not in made:  # a point in time once
                made[name] = self.make(below, random, words, depth + 1, name)
        if isinstance(schema.get("additionalProperties"), dict):
            made["key"] = self.make(schema["additionalProperties"], random, words, depth + 1)
        return {name: value for name, value in made.items() if not (name.endswith("_at") and name + "_ms" in made)}

    @staticmethod
    def _make_text(schema, random, words):
        if schema.get("format") == "date-time":
            return f"20{random.randint(20, 40)}-0{random.randint(1, 9)}-1{random.randint(0, 9)}T12:09:07Z"
        if schema.get("contentEncoding") == "base64":
            return base64.b64encode(bytes(random.randrange(256) for _ in range(random.randrange(40)))).decode()
        return random.choice(words.texts)
