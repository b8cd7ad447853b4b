# SPDX-License-Identifier: MIT OR Apache-2.0
"""HMS-TXN-2 payloads: splitting, and the live state that they add up to.

Vectors that only the engine could compose (of a Triplet) have no indices here.
Dropping a derived child removes what Delete would remove of that id.
"""
import json

MAGIC = b"HMS-TXN-2\0"
MAGIC_3 = b"HMS-TXN-3\0"
MAX_MUTATIONS = 4096
BODY_KEYS = {
    "Vector": ("id", "vector"), "Atom": ("id", "vector"), "Composite": ("id", "vector"),
    "StoredTriple": ("subject_id", "relation_id", "object_id", "composite_id", "deleted"),
    "Document": ("id", "source_uri", "version", "metadata", "chunks"),
    "Derived": ("id", "children"), "DeleteDocument": ("id",), "Delete": ("id",),
    "Triplet": ("id", "subject", "relation", "object"),
    "Relation": ("sourceId", "relationType", "targetId", "properties", "validFrom", "validTo"),
    "RemoveRelation": ("source", "relation", "target"),
    "RelationType": ("name", "transitive", "symmetric"),
    "Rule": ("name", "input_relations", "output_relation"),
}


class PayloadError(ValueError):
    """`code` is unsupported-payload or bad-payload."""

    def __init__(self, code, text):
        super().__init__("%s: %s" % (code, text))
        self.code = code


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode(mutations):
    return MAGIC + compact(mutations).encode("utf-8")


def _no_constant(text):
    raise ValueError("%s is not JSON" % text)


def decode(payload):
    """The mutations of a HMS-TXN-2 payload."""
    if payload[:8] != b"HMS-TXN-" or payload[9:10] != b"\0":
        raise PayloadError("unsupported-payload", "no transaction magic")
    if not payload.startswith(MAGIC):
        raise PayloadError("unsupported-payload", "form %s" % payload[8:9].decode("latin-1"))
    try:
        value = json.loads(payload[len(MAGIC):].decode("utf-8"), parse_constant=_no_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise PayloadError("bad-payload", str(error)) from None
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MUTATIONS:
        raise PayloadError("bad-payload", "not an array of 1..4096 mutations")
    for mutation in value:
        if not isinstance(mutation, dict) or len(mutation) != 1:
            raise PayloadError("bad-payload", "a mutation with other than one key")
        (name, body), = mutation.items()
        if name not in BODY_KEYS:
            raise PayloadError("bad-payload", "unknown mutation %r" % name)
        missing = [key for key in BODY_KEYS[name] if key not in body] \
            if isinstance(body, dict) else ["body"]
        if missing:
            raise PayloadError("bad-payload", "%s lacks %s" % (name, ", ".join(missing)))
    return value


def chunk_id(document, index):
    return "hms:chunk:%d:%s:%d" % (len(document.encode("utf-8")), document, index)


class State:
    def __init__(self, meaning=True, dimensions=None):
        self.meaning, self.dimensions = meaning, dimensions
        self.vectors, self.atoms, self.composites = {}, {}, {}
        self.documents, self.derived, self.triples = {}, {}, []
        self.relations, self.relation_types, self.rules = {}, {}, []

    def apply(self, mutations):
        for mutation in mutations:
            (name, body), = mutation.items()
            getattr(self, "_" + name.lower())(body)

    # ------------------------------------------------ helpers

    def _drop_triples(self, composite):
        self.triples = [t for t in self.triples if t["composite_id"] != composite]

    def _drop_children(self, owner):
        for child in self.derived.pop(owner, ()):
            self._remove(child)

    def _remove(self, key):
        for table in (self.vectors, self.atoms, self.composites):
            table.pop(key, None)
        self._drop_triples(key)

    def _drop_document(self, key):
        for chunk in self.documents.pop(key, {"chunks": ()})["chunks"]:
            self.vectors.pop(chunk["id"], None)

    # ------------------------------------------------ one method a variant

    def _vector(self, b):
        self._drop_children(b["id"])
        self.composites.pop(b["id"], None)
        self._drop_triples(b["id"])
        self.vectors[b["id"]] = b["vector"]
        if self.meaning:
            self.atoms[b["id"]] = b["vector"]

    def _atom(self, b):
        if self.meaning:
            self.atoms[b["id"]] = b["vector"]

    def _composite(self, b):
        self.composites[b["id"]] = self.vectors[b["id"]] = b["vector"]

    def _storedtriple(self, b):
        self.triples.append({key: b[key] for key in ("composite_id", "subject_id",
                                                     "relation_id", "object_id")})

    def _document(self, b):
        self._drop_document(b["id"])
        for chunk in b["chunks"]:
            self.vectors[chunk["id"]] = chunk["vector"]
        self.documents[b["id"]] = {key: b[key] for key in ("source_uri", "version", "metadata",
                                                           "chunks")}

    def _derived(self, b):
        self.derived[b["id"]] = b["children"]

    def _deletedocument(self, b):
        self._drop_document(b["id"])

    def _delete(self, b):
        self._drop_children(b["id"])
        self._remove(b["id"])

    def _triplet(self, b):
        self._drop_children(b["id"])
        for part in ("subject", "relation", "object"):
            self.atoms.setdefault(b[part], None)
        self.composites[b["id"]] = self.vectors[b["id"]] = None
        self._drop_triples(b["id"])
        self.triples.append({"composite_id": b["id"], "subject_id": b["subject"],
                             "relation_id": b["relation"], "object_id": b["object"]})

    def _relation(self, b):
        self.relations[b["sourceId"], b["relationType"], b["targetId"]] = {
            "properties": b["properties"], "valid_from": b["validFrom"], "valid_to": b["validTo"]}

    def _removerelation(self, b):
        self.relations.pop((b["source"], b["relation"], b["target"]), None)

    def _relationtype(self, b):
        self.relation_types[b["name"]] = {"transitive": b["transitive"],
                                          "symmetric": b["symmetric"]}

    def _rule(self, b):
        self.rules.append({key: b[key] for key in BODY_KEYS["Rule"]})

    # ------------------------------------------------ the state as lines

    def lines(self):
        for kind, table in (("vector", self.vectors), ("atom", self.atoms),
                            ("composite", self.composites)):
            for key in sorted(table):
                vector = table[key]
                yield {"kind": kind, "id": key,
                       "dim": vector["dim"] if vector else self.dimensions,
                       "indices": vector and vector["indices"]}
        for key in sorted(self.documents):
            yield dict({"kind": "document", "id": key}, **self.documents[key])
        for key in sorted(self.derived):
            yield {"kind": "derived", "id": key, "children": self.derived[key]}
        for triple in sorted(self.triples, key=lambda t: t["composite_id"]):
            yield dict({"kind": "triple"}, **triple)
        for key in sorted(self.relations):
            yield dict({"kind": "relation", "source": key[0], "relation": key[1],
                        "target": key[2]}, **self.relations[key])
        for key in sorted(self.relation_types):
            yield dict({"kind": "relation_type", "name": key}, **self.relation_types[key])
        for rule in self.rules:
            yield dict({"kind": "rule"}, **rule)
