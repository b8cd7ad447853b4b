# SPDX-License-Identifier: MIT OR Apache-2.0
"""A consumer of the Arrow C stream interface in plain Python: rows as dicts, slow and simple.

Knows the types that Varve exports: booleans, integers, timestamps, text, bytes, dictionaries,
structs."""
import ctypes

P = ctypes.c_void_p
I64 = ctypes.c_int64
INTEGERS = {"C": ctypes.c_uint8, "S": ctypes.c_uint16, "I": ctypes.c_uint32, "L": ctypes.c_uint64,
            "i": ctypes.c_int32, "l": ctypes.c_int64, "tsu:UTC": ctypes.c_int64}


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", P),
                   ("flags", I64), ("n_children", I64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
                   ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("data", P)]
Array._fields_ = [("length", I64), ("null_count", I64), ("offset", I64), ("n_buffers", I64),
                  ("n_children", I64), ("buffers", ctypes.POINTER(P)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)),
                  ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("data", P)]
STREAM = ctypes.POINTER(Stream)
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, STREAM, ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, STREAM, ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, STREAM)),
                   ("release", ctypes.CFUNCTYPE(None, STREAM)), ("data", P)]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = P
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def bit(address, index):
    byte = ctypes.c_uint8.from_address(address + index // 8).value
    return byte >> (index % 8) & 1


def cell(schema, array, row):
    """The value of one row of a column."""
    at = row + array.offset
    if array.buffers[0] and not bit(array.buffers[0], at):
        return None
    kind = schema.format.decode()
    if kind == "+s":
        return {schema.children[i][0].name.decode(): cell(schema.children[i][0],
                                                          array.children[i][0], at)
                for i in range(schema.n_children)}
    if kind == "b":
        return bool(bit(array.buffers[1], at))
    if kind in INTEGERS:
        number = INTEGERS[kind]
        value = number.from_address(array.buffers[1] + at * ctypes.sizeof(number)).value
        if schema.dictionary:
            return cell(schema.dictionary[0], array.dictionary[0], value)
        return value
    if kind not in "uz":
        raise ValueError(f"unknown type {kind}")
    begin, end = (ctypes.c_int32.from_address(array.buffers[1] + 4 * i).value for i in (at, at + 1))
    value = ctypes.string_at(array.buffers[2] + begin, end - begin) if end > begin else b""
    return value.decode(errors="surrogateescape") if kind == "u" else value


def batches(exporter):
    """The schema and each array of a stream, released behind the consumer."""
    capsule = exporter.__arrow_c_stream__()
    stream = ctypes.cast(_pointer(capsule, b"arrow_array_stream"), STREAM)
    schema, array = Schema(), Array()
    assert stream[0].get_schema(stream, schema) == 0
    try:
        while True:
            if stream[0].get_next(stream, array) != 0:
                raise OSError(stream[0].get_last_error(stream).decode())
            if not array.release:
                return
            try:
                yield schema, array
            finally:
                array.release(array)
    finally:
        schema.release(schema)


def rows(exporter):
    for schema, array in batches(exporter):
        for row in range(array.length):
            yield cell(schema, array, row)
