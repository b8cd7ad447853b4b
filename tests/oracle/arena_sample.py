# SPDX-License-Identifier: MIT OR Apache-2.0
"""Invented HMS-TXN-2 transactions with all mutation kinds.

A World remembers what is alive, so that deletes and replacements have a target
and every transaction obeys the rules of its kind.
"""
import random

from arena_state import chunk_id, encode

_WORDS = ("river clay lamp ferry winter stone meadow signal letter garden paris france knows "
          "capital_of parent_of Größe 東京 naïve harbour glacier").split()
_RELATIONS = ("knows", "capital_of", "part_of", "near")


class World:
    def __init__(self, seed, dimensions=4096):
        self.random, self.dimensions = random.Random(seed), dimensions
        self.count, self.vectors, self.documents, self.edges = 0, [], [], []
        self.owners, self.script = [], list(self._script())

    # ------------------------------------------------ parts

    def name(self, prefix):
        self.count += 1
        return "%s-%s-%d" % (prefix, self.random.choice(_WORDS), self.count)

    def vec(self):
        size = self.random.choice((0, 1, 5, 12, 40))
        return {"dim": self.dimensions,
                "indices": sorted(self.random.sample(range(self.dimensions), size))}

    def some(self, kept, prefix):
        return self.random.choice(kept) if kept else self.name(prefix)

    def text(self, words):
        return " ".join(self.random.choice(_WORDS) for _ in range(words))

    # ------------------------------------------------ mutations

    def vector(self):
        key = self.some(self.vectors, "v") if self.random.random() < 0.2 else self.name("v")
        self.vectors.append(key)
        return {"Vector": {"id": key, "vector": self.vec()}}

    def atom(self):
        return {"Atom": {"id": self.name("a"), "vector": self.vec()}}

    def composite(self):
        key = self.name("c")
        self.vectors.append(key)
        return {"Composite": {"id": key, "vector": self.vec()}}

    def stored_triple(self):
        return {"StoredTriple": {"subject_id": self.some(self.vectors, "v"),
                                 "relation_id": self.random.choice(_RELATIONS),
                                 "object_id": self.some(self.vectors, "v"),
                                 "composite_id": self.name("c"), "deleted": False}}

    def document(self):
        again = self.documents and self.random.random() < 0.3
        key = self.random.choice(self.documents) if again else self.name("doc")
        if not again:
            self.documents.append(key)
        chunks, at = [], 0
        for index in range(self.random.randrange(1, 4)):
            text = self.text(self.random.randrange(3, 30))
            size = len(text.encode("utf-8"))
            terms = {}
            for word in text.split():
                terms[word] = terms.get(word, 0) + 1
            chunks.append({
                "id": chunk_id(key, index), "text": text if self.random.random() < 0.8 else None,
                "start_byte": at, "end_byte": at + size, "vector": self.vec(),
                "embedding": [0.25, -1.5, 3.0] if self.random.random() < 0.3 else None,
                "terms": terms, "word_count": len(text.split())})
            at += size
        metadata = self.random.choice((None, {}, {"lang": "de", "tags": ["a", 1, 2.5, True]},
                                       {"deep": {"list": [[], {}], "n": -7}}))
        return {"Document": {"id": key, "source_uri": self.random.choice(
            (None, "file:///%s.txt" % key)), "version": "v%d" % self.random.randrange(9),
            "metadata": metadata, "chunks": chunks}}

    def derived(self):
        """The children's vectors first, then the statement that they belong together."""
        key = self.some(self.vectors, "v")
        children = ["hms:meaning:%d:%s:%d" % (len(key.encode("utf-8")), key, i)
                    for i in range(self.random.randrange(1, 4))]
        self.owners.append(key)
        return [{"Atom": {"id": child, "vector": self.vec()}} for child in children] \
            + [{"Derived": {"id": key, "children": children}}]

    def delete_document(self):
        key = self.some(self.documents, "doc")
        self.documents = [d for d in self.documents if d != key]
        return {"DeleteDocument": {"id": key}}

    def delete(self):
        kept = self.owners if self.owners and self.random.random() < 0.4 else self.vectors
        key = self.some(kept, "v")
        self.vectors = [v for v in self.vectors if v != key]
        self.owners = [v for v in self.owners if v != key]
        return {"Delete": {"id": key}}

    def triplet(self):
        return {"Triplet": {"id": self.name("t"), "subject": self.random.choice(_WORDS),
                            "relation": self.random.choice(_RELATIONS),
                            "object": self.random.choice(_WORDS)}}

    def relation(self):
        edge = (self.some(self.vectors, "v"), self.random.choice(_RELATIONS),
                self.some(self.vectors, "v"))
        self.edges.append(edge)
        start = float(self.random.randrange(1000))
        return {"Relation": {"sourceId": edge[0], "relationType": edge[1], "targetId": edge[2],
                             "properties": self.random.choice((None, "{\"w\":1}")),
                             "validFrom": start,
                             "validTo": self.random.choice((0.0, start, start + 0.5))}}

    def remove_relation(self):
        edge = self.some(self.edges, "e")
        edge = edge if isinstance(edge, tuple) else ("x", "knows", "y")
        self.edges = [e for e in self.edges if e != edge]
        return {"RemoveRelation": {"source": edge[0], "relation": edge[1], "target": edge[2]}}

    def relation_type(self):
        return {"RelationType": {"name": self.random.choice(_RELATIONS),
                                 "transitive": self.random.random() < 0.5,
                                 "symmetric": self.random.random() < 0.5}}

    def rule(self):
        return {"Rule": {"name": self.name("rule"),
                         "input_relations": self.random.sample(_RELATIONS, 2),
                         "output_relation": self.random.choice(_RELATIONS)}}

    # ------------------------------------------------ transactions

    def _script(self):
        return (self.vector, self.atom, self.composite, self.document, self.relation_type,
                self.relation, self.triplet, self.stored_triple, self.rule, self.derived,
                self.remove_relation, self.delete_document, self.delete)

    def transaction(self):
        """The first thirteen hold each kind once; later ones are mixed."""
        if self.script:
            makers = [self.script.pop(0)]
        else:
            makers = self.random.choices(self._script(), (9, 2, 2, 5, 1, 4, 3, 2, 1, 2, 1, 1, 2),
                                         k=self.random.choice((1, 1, 1, 2, 5)))
        out = []
        for maker in makers:
            made = maker()
            out += made if isinstance(made, list) else [made]
        return encode(out)
