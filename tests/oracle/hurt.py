#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Make a damaged copy of a file, or damage it in place where OUT is FILE itself.

  hurt.py FILE 'flip 1234.5' 'zero 4..12' 'cut 900' -o OUT

Operations, applied from left to right. Ranges are half-open (4..12 are the eight
bytes 4 to 11); offsets are decimal or 0x hex; a minus sign counts from the end, and
`end` is the length of the file.

  flip OFF.BIT        invert one bit (0 is the least significant)
  flip OFF            invert bit 0
  zero A..B           set to zero
  fill A..B HEX       repeat the bytes over the range
  set OFF HEX         overwrite with these bytes
  add OFF WIDTH N     add N to a little-endian integer of WIDTH bytes (it wraps)
  cut OFF             end the file at OFF
  drop A..B           take the range out
  insert OFF HEX      put bytes in between
  append HEX          put bytes behind the end
  pad N               put N zero bytes behind the end
  copy A..B OFF       copy the range over the bytes at OFF
  swap A..B C..D      exchange two ranges that do not overlap
  random A..B SEED    fill with bytes drawn from the seed
"""
import argparse
import os
import random
import sys


class Usage(ValueError):
    pass


def offset(text, size):
    if text == "end":
        return size
    value = int(text, 0)
    if value < 0:
        value += size
    if not 0 <= value <= size:
        raise Usage("offset %s is outside the file of %d bytes" % (text, size))
    return value


def span(text, size):
    a, dots, b = text.partition("..")
    if not dots:
        raise Usage("not a range: %s" % text)
    a, b = offset(a or "0", size), offset(b or "end", size)
    if b < a:
        raise Usage("range %s runs backwards" % text)
    return a, b


def overwrite(data, at, piece):
    if at + len(piece) > len(data):
        raise Usage("%d bytes at %d do not fit" % (len(piece), at))
    data[at:at + len(piece)] = piece


def _flip(data, where):
    place, _, bit = where.partition(".")
    at, bit = offset(place, len(data)), int(bit or "0")
    if at >= len(data) or not 0 <= bit <= 7:
        raise Usage("no such bit: %s" % where)
    data[at] ^= 1 << bit


def _zero(data, where):
    a, b = span(where, len(data))
    data[a:b] = bytes(b - a)


def _fill(data, where, text):
    a, b = span(where, len(data))
    unit = bytes.fromhex(text)
    if not unit:
        raise Usage("nothing to fill with")
    data[a:b] = (unit * ((b - a) // len(unit) + 1))[:b - a]


def _set(data, where, text):
    overwrite(data, offset(where, len(data)), bytes.fromhex(text))


def _add(data, where, width, amount):
    at, width = offset(where, len(data)), int(width)
    if not 1 <= width <= 8:
        raise Usage("width %d" % width)
    value = int.from_bytes(data[at:at + width], "little") + int(amount, 0)
    overwrite(data, at, (value % (1 << 8 * width)).to_bytes(width, "little"))


def _cut(data, where):
    del data[offset(where, len(data)):]


def _drop(data, where):
    a, b = span(where, len(data))
    del data[a:b]


def _insert(data, where, text):
    at = offset(where, len(data))
    data[at:at] = bytes.fromhex(text)


def _append(data, text):
    data += bytes.fromhex(text)


def _pad(data, count):
    data += bytes(int(count, 0))


def _copy(data, where, target):
    a, b = span(where, len(data))
    overwrite(data, offset(target, len(data)), bytes(data[a:b]))


def _swap(data, one, two):
    (a, b), (c, d) = sorted((span(one, len(data)), span(two, len(data))))
    if b > c:
        raise Usage("the ranges overlap")
    data[a:d] = data[c:d] + data[b:c] + data[a:b]


def _random(data, where, seed):
    a, b = span(where, len(data))
    data[a:b] = random.Random(int(seed, 0)).randbytes(b - a)


OPERATIONS = {"flip": _flip, "zero": _zero, "fill": _fill, "set": _set, "add": _add,
              "cut": _cut, "drop": _drop, "insert": _insert, "append": _append, "pad": _pad,
              "copy": _copy, "swap": _swap, "random": _random}


def hurt(data, operations):
    """A damaged copy of `data`."""
    out = bytearray(data)
    for text in operations:
        name, *rest = text.split()
        if name not in OPERATIONS:
            raise Usage("no such operation: %s" % name)
        try:
            OPERATIONS[name](out, *rest)
        except TypeError:
            raise Usage("wrong number of values: %s" % text) from None
        except Usage:
            raise
        except ValueError as error:
            raise Usage("%s: %s" % (text, error)) from None
    return bytes(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("operation", nargs="*")
    parser.add_argument("-o", "--out", required=True,
                        help="the damaged copy; FILE itself: in place")
    parser.add_argument("--force", action="store_true", help="overwrite another file OUT")
    args = parser.parse_args()
    in_place = os.path.exists(args.out) and os.path.samefile(args.file, args.out)
    with open(args.file, "rb") as stream:
        data = stream.read()
    try:
        result = hurt(data, args.operation)
    except Usage as error:
        parser.error(str(error))
    with open(args.out, "wb" if args.force or in_place else "xb") as stream:
        stream.write(result)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileExistsError as error:
        print("exists: %s" % error.filename, file=sys.stderr)
        sys.exit(1)
