# SPDX-License-Identifier: MIT OR Apache-2.0
"""The bloom filter of jss segments ("gloom", serialization version 1)."""
import math
import struct
from functools import lru_cache

import xxhash

from checksums import crc32c

PARTS = {
    3: (167, 173, 172),
    4: (109, 127, 137, 139),
    5: (97, 101, 103, 109, 102),
    6: (61, 79, 83, 89, 97, 103),
    7: (61, 67, 71, 79, 83, 89, 62),
    8: (37, 47, 53, 61, 67, 71, 79, 97),
    9: (41, 43, 47, 53, 59, 67, 71, 73, 58),
    10: (31, 37, 41, 43, 47, 53, 59, 61, 67, 73),
    11: (29, 31, 37, 41, 43, 44, 47, 53, 59, 61, 67),
    12: (17, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 71),
    13: (17, 19, 23, 29, 31, 37, 41, 43, 47, 52, 53, 59, 61),
    14: (11, 13, 17, 19, 23, 29, 31, 37, 41, 47, 53, 59, 61, 71),
    15: (11, 13, 17, 19, 23, 28, 29, 31, 37, 41, 43, 47, 53, 59, 61),
    16: (5, 7, 11, 13, 17, 19, 23, 27, 29, 31, 37, 41, 43, 47, 53, 109),
    17: (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 32, 37, 41, 43, 47, 53, 101),
}
BLOCK_BYTES = 64
HEAD = struct.Struct("<BIQQ")
MAX_BLOCKS = 1 << 50


class GloomError(ValueError):
    """A blob that does not decode."""


# ---------------------------------------------------------------- parameters

@lru_cache(maxsize=None)
def _in_block(k, j):
    product = 1.0
    for m in PARTS[k]:
        product *= 1.0 - math.pow(1.0 - 1.0 / m, j)
    return product


@lru_cache(maxsize=64)
def _weights(blocks, n):
    """The Poisson weights of loads 0..J; they do not depend on k."""
    load = n / blocks
    top = int(load) + 10.0 * math.sqrt(load) + 20
    out, log_factorial, j = [], 0.0, 0
    while j <= top:
        if j > 0:
            log_factorial += math.log(j)
        weight = math.exp(-load + j * math.log(load) - log_factorial)
        if weight < 1e-15 and j > int(load):
            break
        out.append(weight)
        j += 1
    return out


def rate(blocks, k, n):
    """Expected rate of false positives with n items in `blocks` bit blocks."""
    if blocks == 0 or n == 0:
        return 0.0
    load = n / blocks
    if load > 10000:
        product = 1.0
        for m in PARTS[k]:
            product *= 1.0 - math.pow(1.0 - 1.0 / m, load)
        return product
    total = 0.0
    for j, weight in enumerate(_weights(blocks, n)):
        if j > 0:
            total += weight * _in_block(k, j)
    return total


def best_k(blocks, n):
    best, best_rate = 3, rate(blocks, 3, n)
    for k in range(4, 18):
        this = rate(blocks, k, n)
        if this < best_rate:
            best, best_rate = k, this
    return best


@lru_cache(maxsize=None)
def parameters(n, p=0.001):
    """(num_blocks, k) for n items at rate p."""
    n = max(n, 1)
    p = 0.0001 if p <= 0 else 0.99 if p >= 1 else p
    bits_per_item = -math.log(p) / 0.4804530139182014
    base = math.ceil(float(n) * bits_per_item / 512.0)
    limit = math.ceil(base * 4.0)
    blocks, k = base, best_k(base, n)
    while rate(blocks, k, n) > p and blocks < limit:
        blocks = min(blocks + blocks // 8 + 1, limit)
        k = best_k(blocks, n)
    return blocks, k


# ---------------------------------------------------------------- filter

@lru_cache(maxsize=None)
def _layout(k):
    out, offset = [], 0
    for m in PARTS[k]:
        out.append((offset, m))
        offset += m
    assert offset == 512
    return tuple(out)


def positions(key, num_blocks, k):
    """(block, [bit positions]) of a key."""
    h = xxhash.xxh3_128_intdigest(key)
    high, low = h >> 64, h & 0xFFFFFFFFFFFFFFFF
    x = (low & 0xFFFFFFFF) ^ (low >> 32)
    return (high * num_blocks) >> 64, [offset + x % m for offset, m in _layout(k)]


class Bloom:
    def __init__(self, num_blocks, k):
        if k not in PARTS or not 1 <= num_blocks <= MAX_BLOCKS:
            raise GloomError("no such filter: %d blocks, k %d" % (num_blocks, k))
        self.num_blocks, self.k, self.count = num_blocks, k, 0
        self.bits = bytearray(num_blocks * BLOCK_BYTES)

    @classmethod
    def sized(cls, n, p=0.001):
        return cls(*parameters(n, p))

    def insert(self, key):
        block, places = positions(key, self.num_blocks, self.k)
        base, bits = block * BLOCK_BYTES, self.bits
        for p in places:
            bits[base + (p >> 3)] |= 1 << (p & 7)
        self.count += 1

    def test(self, key):
        block, places = positions(key, self.num_blocks, self.k)
        base, bits = block * BLOCK_BYTES, self.bits
        return all(bits[base + (p >> 3)] >> (p & 7) & 1 for p in places)

    def marshal(self):
        body = HEAD.pack(1, self.k, self.num_blocks, self.count) + bytes(self.bits)
        return body + struct.pack("<I", crc32c(body))

    @classmethod
    def unmarshal(cls, blob):
        blob = bytes(blob)
        if len(blob) < 25:
            raise GloomError("blob of %d bytes" % len(blob))
        version, k, num_blocks, count = HEAD.unpack_from(blob)
        if version != 1:
            raise GloomError("version %d" % version)
        if k not in PARTS:
            raise GloomError("k %d" % k)
        if not 1 <= num_blocks <= MAX_BLOCKS:
            raise GloomError("num_blocks %d" % num_blocks)
        if len(blob) != 25 + BLOCK_BYTES * num_blocks:
            raise GloomError("%d bytes for %d blocks" % (len(blob), num_blocks))
        stored, = struct.unpack_from("<I", blob, len(blob) - 4)
        actual = crc32c(blob[:-4])
        if stored != actual:
            raise GloomError("CRC-32C %08x, computed %08x" % (stored, actual))
        out = cls(num_blocks, k)
        out.count = count
        out.bits[:] = blob[21:-4]
        return out
