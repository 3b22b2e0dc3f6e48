#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold lines of JSON against Documentation/schema/: each key has to be in it, and as it says.

usage: tests/schema.py FILE...   prints what is wrong; exits 1 if anything is
"""

import json
import pathlib
import sys

import jsonschema

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "Documentation/schema/pg-collect-1.json"


def closed(schema):
    """The same, but of objects no keys are allowed beyond those that it has."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    ret = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        ret.setdefault("additionalProperties", False)
    return ret


def kinds_of(definition):
    kind = definition.get("properties", {}).get("kind", {})
    return kind.get("enum", [kind["const"]] if "const" in kind else [])


class Schema:
    """The published one is open, so that keys can be added; what a test sees has to be in it."""

    def __init__(self):
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        self.definitions = schema["$defs"]
        self._validators = {}
        shut = closed(schema["$defs"])
        for name, definition in self.definitions.items():
            for kind in kinds_of(definition):
                self._validators.setdefault(kind, []).append(
                    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": shut}))

    def wrong(self, line):
        """What is wrong with a line, a dict: texts, none if it is as it should be."""
        kind = line.get("kind") if isinstance(line, dict) else None
        found = [[f"{kind}{error.json_path[1:]}: {error.message[:200]}"
                  for error in validator.iter_errors(line)]
                 for validator in self._validators.get(kind, [])]
        return min(found, key=len) if found else [f"kind {kind} is not in the schema"]


def shape(value):
    """Lines of one shape are right, or wrong, together: so each is looked at once."""
    if isinstance(value, dict):
        return tuple(sorted((key, shape(one)) for key, one in value.items()))
    if isinstance(value, list):
        return frozenset(map(shape, value))
    return type(value).__name__ if not isinstance(value, str) or len(value) > 12 else value


def check(lines):
    """What is wrong with any of these dicts, each thing once; and the kinds that they are of."""
    schema, seen, wrong = Schema(), set(), {}
    for line in lines:
        if (of := shape(line)) not in seen:
            seen.add(of)
            wrong.update(dict.fromkeys(schema.wrong(line)))
    return list(wrong), {line["kind"] for line in lines}


def main():
    lines = [json.loads(line) for name in sys.argv[1:]
             for line in pathlib.Path(name).read_text(encoding="utf-8").splitlines()]
    wrong, kinds = check(lines)
    print("\n".join(wrong or [" ".join(sorted(kinds))]))
    sys.exit(bool(wrong) or not lines)


if __name__ == "__main__":
    main()
