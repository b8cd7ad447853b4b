# SPDX-License-Identifier: MIT OR Apache-2.0
"""CRC-32C in plain Python (the standard library has only CRC-32)."""


def _tables():
    first = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        first.append(c)
    tables = [first]
    for _ in range(7):
        last = tables[-1]
        tables.append([first[v & 0xFF] ^ v >> 8 for v in last])
    return tables


_T = _tables()


def crc32c(data, crc=0):
    """CRC-32C (Castagnoli) of `data`; `crc` continues an earlier result."""
    t0, t1, t2, t3, t4, t5, t6, t7 = _T
    c = crc ^ 0xFFFFFFFF
    view = memoryview(data).cast("B")
    whole = len(view) & ~7
    words = bytes(view[:whole])
    from_bytes = int.from_bytes
    for i in range(0, whole, 8):
        w = from_bytes(words[i:i + 8], "little") ^ c
        c = (t7[w & 0xFF] ^ t6[w >> 8 & 0xFF] ^ t5[w >> 16 & 0xFF] ^ t4[w >> 24 & 0xFF]
             ^ t3[w >> 32 & 0xFF] ^ t2[w >> 40 & 0xFF] ^ t1[w >> 48 & 0xFF] ^ t0[w >> 56])
    for byte in view[whole:]:
        c = t0[(c ^ byte) & 0xFF] ^ c >> 8
    return c ^ 0xFFFFFFFF
