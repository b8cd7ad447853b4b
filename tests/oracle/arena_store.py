# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where an arena's segments are: store or arena directory, manifests, CURRENT."""
import json
import os
import re

from arena_format import SEGMENT_SIZE, Image, Walk

ARENA = "vectors_data.bin"
_SEGMENT = re.compile(r"seg_(0|[1-9][0-9]*)\.bin\Z")
_GENERATION = re.compile(r"gen-[A-Za-z0-9-]*\Z")


class ArenaError(Exception):
    """`code` is the format's name of the error; `exit` what a reader returns."""

    def __init__(self, code, text, exit_code=2):
        super().__init__("%s: %s" % (code, text))
        self.code, self.text, self.exit = code, text, exit_code


def _manifest(folder):
    """(version, segment_size) of format.json, or None if there is none."""
    path = os.path.join(folder, "format.json")
    if not os.path.lexists(path):
        return None
    try:
        with open(path, encoding="utf-8") as stream:
            value = json.load(stream)
        magic, version, size = value["magic"], value["version"], value["segment_size"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArenaError("bad-manifest", "format.json: %r" % error) from None
    if magic != "HMS_ARENA":
        raise ArenaError("bad-manifest", "magic %r" % magic)
    if type(version) is not int or type(size) is not int or version < 1:
        raise ArenaError("bad-manifest", "version %r, segment_size %r" % (version, size))
    if version > 4:
        raise ArenaError("unsupported-format", "version %d" % version, 3)
    if size != SEGMENT_SIZE[version]:
        raise ArenaError("segment-size-mismatch", "version %d with %d" % (version, size))
    return version, size


def _pointer(arena):
    path = os.path.join(arena, "CURRENT")
    if not os.path.lexists(path):
        return None
    with open(path, "rb") as stream:
        raw = stream.read()
    name = raw.decode("ascii", "replace")
    target = os.path.join(arena, name)
    if not _GENERATION.match(name) or "\n" in name or os.path.islink(target) \
            or not os.path.isdir(target):
        raise ArenaError("bad-pointer", "CURRENT names %r" % name)
    return name


class Store:
    """Resolves a path and walks every segment of the live generation."""

    def __init__(self, path):
        self.path = path
        self.arena = os.path.join(path, ARENA) if os.path.isdir(os.path.join(path, ARENA)) \
            else path
        self.schema_problem = None
        self.schema = self._schema()
        self.generation = _pointer(self.arena)
        self.live = os.path.join(self.arena, self.generation) if self.generation else self.arena
        self.version, self.segment_size = self._version()
        self.files = self._segments()
        self.notes = []
        if os.path.lexists(os.path.join(self.live, "documents.ckpt")):
            self.notes.append("checkpoint-unsupported")
        for name in sorted(os.listdir(self.arena)):
            if name.startswith("gen-") and name != self.generation:
                self.notes.append("orphan-generation " + name)

    def _schema(self):
        """store.json of the store around the arena, or None for an arena alone. What is
        wrong with it does not keep the frames from being read."""
        arena = os.path.abspath(self.arena)
        path = os.path.join(os.path.dirname(arena), "store.json")
        if os.path.basename(arena) != ARENA or not os.path.exists(path):
            return None
        try:
            with open(path, encoding="utf-8") as stream:
                value = json.load(stream)
        except (ValueError, RecursionError) as error:
            self.schema_problem = ArenaError("schema-mismatch", "store.json: %s" % error)
            return None
        version = value.get("version") if isinstance(value, dict) else None
        if type(version) is not int or version < 2:
            self.schema_problem = ArenaError("schema-mismatch", "store.json: version %r" % version)
            return None
        if version > 5:
            self.schema_problem = ArenaError("unsupported-schema", "version %d" % version, 3)
        return value

    def _version(self):
        own, live = _manifest(self.arena), _manifest(self.live)
        if own and live and own != live:
            raise ArenaError("bad-manifest", "generation %r, arena %r" % (live, own))
        return live or own or (1, SEGMENT_SIZE[1])

    def _segments(self):
        names = os.listdir(self.live)
        numbers = sorted(int(m.group(1)) for m in map(_SEGMENT.match, names) if m)
        if numbers != list(range(len(numbers))):
            raise ArenaError("segment-gap", "segments %r" % numbers)
        if not numbers and (self.generation or any(n.startswith("gen-") for n in names)):
            raise ArenaError("segments-missing", "no segment in %s" % self.live)
        return [os.path.join(self.live, "seg_%d.bin" % n) for n in numbers]

    def walks(self):
        for number, path in enumerate(self.files):
            final = number + 1 == len(self.files)
            try:
                image = Image.read(path, self.version, final)
            except OverflowError as error:
                raise ArenaError("oversized-segment", "%s of %s bytes"
                                 % (os.path.basename(path), error)) from None
            yield number, Walk(image, final)
