#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks JSON from stdin against a schema of docs/json-schema/.

    check_json.py NAME [--lines]
    check_json.py --pairs

NAME is a schema's file name without ".json". With --lines every line is a document; with --pairs
every line is a schema's name, a tab and a document. Keys that the schema does not name are refused
too, so that what is printed stays documented. Prints the number of documents; exit code 1 and the
first fault if one does not fit, 77 without python3-jsonschema."""
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed", file=sys.stderr)
    sys.exit(77)

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "json-schema"


def close_objects(schema):
    """Objects that list their properties take no others, unless they say otherwise."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for value in schema.values():
            close_objects(value)
    elif isinstance(schema, list):
        for value in schema:
            close_objects(value)
    return schema


def load_schemas():
    store = {}
    for path in SCHEMAS.glob("*.json"):
        schema = close_objects(json.loads(path.read_text(encoding="utf-8")))
        jsonschema.Draft202012Validator.check_schema(schema)
        store[schema["$id"]] = schema
    return store


def read_pairs(arguments):
    text = sys.stdin.read()
    if arguments[0] == "--pairs":
        return [line.split("\t", 1) for line in text.split("\n") if line]
    if "--lines" in arguments:
        return [(arguments[0], line) for line in text.split("\n") if line]
    return [(arguments[0], text)]


def main():
    store = load_schemas()
    pairs = read_pairs(sys.argv[1:])
    validators = {}
    for number, (name, document) in enumerate(pairs, 1):
        if name not in validators:
            schema = store[f"varve:{name}"]
            resolver = jsonschema.RefResolver(schema["$id"], schema, store=store)
            validators[name] = jsonschema.Draft202012Validator(schema, resolver=resolver)
        error = jsonschema.exceptions.best_match(validators[name].iter_errors(json.loads(document)))
        if error is not None:
            print(f"{name}, document {number}: {error.json_path}: {error.message}",
                  file=sys.stderr)
            return 1
    print(f"{len(pairs)} documents fit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
