# SPDX-License-Identifier: MIT OR Apache-2.0
meta:
  id: jss
  title: Event segment (Jetstream archive, version 1)
  file-extension: jss
  license: MIT OR Apache-2.0
  endian: le
doc: |
  Header, block frames, and in a sealed file the footer. The frames are zstd and stay as they are.
seq:
  - id: header
    type: header
  - id: blocks
    type: block_frame
    repeat: until
    repeat-until: _io.pos >= frames_end
    if: frames_end > 256
instances:
  is_sealed:
    value: header.checksum != 0
  frames_end:
    value: "is_sealed ? header.footer_offset : _io.size.as<u8>"
  block_index:
    if: is_sealed
    pos: header.block_index_offset
    type: block_index_entry
    repeat: expr
    repeat-expr: header.block_count
  did_bloom:
    if: is_sealed and header.block_did_bloom_offset > header.did_bloom_offset
    pos: header.did_bloom_offset
    size: header.block_did_bloom_offset - header.did_bloom_offset
    type: bloom
  block_did_blooms:
    if: is_sealed
    pos: header.block_did_bloom_offset
    type: bloom_region
  collection_index:
    if: is_sealed
    pos: header.collection_index_offset
    type: collection_index
types:
  header:
    seq:
      # fields of header
      - id: magic
        size: 4
        doc: "\"jss0\""
      - id: checksum
        type: u8
        doc: "xxh3-64 of header[12..256) and the footer; 0: active"
      - id: version
        type: u2
        doc: "1"
      - id: block_count
        type: u4
        doc: "blocks, empty ones included"
      - id: event_count
        type: u4
        doc: "rows, summed over the blocks"
      - id: unique_did_count
        type: u4
        doc: "distinct DIDs that are not empty"
      - id: min_seq
        type: u8
        doc: "lowest seq, or lower after a compaction"
      - id: max_seq
        type: u8
        doc: "highest seq, or higher after a compaction"
      - id: min_witnessed_at
        type: s8
        doc: "earliest witnessed_at, likewise"
      - id: max_witnessed_at
        type: s8
        doc: "latest witnessed_at, likewise"
      - id: footer_offset
        type: u8
        doc: "where the footer begins"
      - id: did_bloom_offset
        type: u8
        doc: "where the segment's bloom begins"
      - id: block_did_bloom_offset
        type: u8
        doc: "where the blocks' blooms begin"
      - id: collection_index_offset
        type: u8
        doc: "where the collection index begins"
      - id: block_index_offset
        type: u8
        doc: "equal to footer_offset"
      - id: reserved
        size: 158
        doc: "written as zero, covered by the checksum"
      # end of header
  block_frame:
    seq:
      # fields of length_prefix
      - id: block_len
        type: u8
        doc: "bytes of the frame"
      # end of length_prefix
      - id: frame
        size: block_len
        doc: "zstd: the columns of the block"
  block_index_entry:
    seq:
      # fields of block_index_entry
      - id: offset
        type: u8
        doc: "of the frame's length prefix"
      - id: compressed_size
        type: u4
        doc: "bytes of the frame"
      - id: uncompressed_size
        type: u4
        doc: "bytes of the body"
      - id: event_count
        type: u4
        doc: "rows of the block"
      - id: min_seq
        type: u8
        doc: "lowest seq, or lower after a compaction"
      - id: max_seq
        type: u8
        doc: "highest seq, or higher after a compaction"
      - id: min_witnessed_at
        type: s8
        doc: "earliest witnessed_at, likewise"
      - id: max_witnessed_at
        type: s8
        doc: "latest witnessed_at, likewise"
      # end of block_index_entry
  bloom:
    seq:
      # fields of bloom
      - id: version
        type: u1
        doc: "1"
      - id: k
        type: u4
        doc: "bits a key, 3 to 17"
      - id: num_blocks
        type: u8
        doc: "bit blocks of 64 bytes"
      - id: count
        type: u8
        doc: "insertions"
      # end of bloom
      - id: bits
        size: num_blocks * 64
      - id: crc
        type: u4
        doc: "CRC-32C over everything before it"
  bloom_region:
    seq:
      # fields of bloom_region
      - id: block_count
        type: u4
        doc: "the header's"
      - id: bloom_size_bytes
        type: u4
        doc: "bytes of each bloom"
      # end of bloom_region
      - id: blooms
        size: bloom_size_bytes
        type: bloom
        repeat: expr
        repeat-expr: block_count
  collection_index:
    seq:
      # fields of collection_index
      - id: collection_count
        type: u4
        doc: "names in the table"
      - id: block_count
        type: u4
        doc: "the header's"
      - id: bitmask_len
        type: u4
        doc: "bytes of each block's mask"
      - id: uncompressed_size
        type: u4
        doc: "bytes of the body"
      # end of collection_index
      - id: frame
        size-eos: true
        doc: "zstd: names, counts and a mask for each block"
