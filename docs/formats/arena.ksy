# SPDX-License-Identifier: MIT OR Apache-2.0
meta:
  id: arena
  title: Segment of an arena journal (seg_N.bin)
  license: MIT OR Apache-2.0
  endian: le
doc: |
  Frames that touch each other, up to an end: a marker, 16 zero bytes, or fewer than 16 bytes left.
seq:
  - id: frames
    type: frame
    repeat: until
    repeat-until: _.is_end or _io.size - _io.pos < 16
  - id: behind_the_end
    size-eos: true
    doc: "not part of the log: zeros, or stale bytes of older frames"
types:
  frame:
    seq:
      # fields of frame
      - id: crc32
        type: u4
        doc: "CRC-32 of the payload after decompression"
      - id: raw_len
        type: u4
        doc: "bytes of the payload after decompression"
      - id: comp_len
        type: u4
        doc: "bytes stored; less than raw_len: LZ4"
      - id: seq
        type: u4
        doc: "advisory counter, covered by nothing"
      # end of frame
      - id: data
        size: "is_end ? 0 : comp_len"
        doc: "the LZ4 block if comp_len is less than raw_len, or the payload itself"
    instances:
      is_end:
        value: raw_len == 0 and comp_len == 0
        doc: "a marker or a zero header"
  marker:
    doc: "What a frame with is_end holds if it is a marker."
    seq:
      # fields of marker
      - id: crc32
        type: u4
        doc: "0"
      - id: raw_len
        type: u4
        doc: "0"
      - id: comp_len
        type: u4
        doc: "0"
      - id: seq
        type: u4
        doc: "the bytes LDNE"
      # end of marker
