# SPDX-License-Identifier: MIT OR Apache-2.0
meta:
  id: kladde
  title: Kladde transactional store
  license: MIT OR Apache-2.0
  endian: le
doc: |
  Pages of 4096 bytes. The slot with the higher epoch governs, if it is valid; its table names the
  table and data pages, its journal_pointer the first journal page. Only that says what a page is: one
  that the governing header does not reach may hold anything. as_framed and as_journal show a page
  both ways.
seq:
  - id: slot_0
    type: slot
    size: 4096
  - id: slot_1
    type: slot
    size: 4096
    if: _io.size >= 8192
  - id: pages
    type: page
    size: 4096
    repeat: expr
    repeat-expr: "_io.size >= 8192 ? _io.size / 4096 - 2 : 0"
types:
  header:
    seq:
      # fields of header
      - id: magic
        size: 11
        doc: "8B \"KLADDE\" 0D 0A 1A 0A"
      - id: log2_page_size
        type: u1
        doc: "12 is the only size"
      - id: format_version
        type: u2
        doc: "informational"
      - id: min_reader_version
        type: u2
        doc: "0 today"
      - id: root_allocation
        type: u4
        doc: "0: none"
      - id: schema_table
        type: u4
        doc: "0: none"
      - id: consolidator_state
        type: u4
        doc: "0: none"
      - id: root_fingerprint
        size: 16
        doc: "of the root's type; zeros: none"
      - id: journal_pointer
        type: u4
        doc: "a page"
      # end of header
  page_frame:
    seq:
      # fields of page_frame
      - id: kind
        type: u1
        doc: "1 address table, 2 data"
      - id: epoch
        type: u8
        doc: "of the flush that wrote the page"
      - id: content_size
        type: u2
        doc: "bytes of the content"
      # end of page_frame
      - id: content
        size: content_size
      - id: crc
        type: u4
        doc: "CRC-32C of what stands before content_size, and of the content"
  slot:
    seq:
      - id: header
        type: header
      - id: frame
        type: page_frame
        if: is_written
      - id: padding
        size-eos: true
    instances:
      is_written:
        value: header.magic[0] == 0x8b
  page:
    instances:
      kind:
        pos: 0
        type: u1
      content_size:
        pos: 9
        type: u2
      as_framed:
        if: kind >= 1 and kind <= 2 and content_size <= 4081
        pos: 0
        type: page_frame
      as_journal:
        pos: 0
        type: journal_page
  journal_trailer:
    seq:
      # fields of journal_trailer
      - id: next
        type: u4
        doc: "the page the stream continues on"
      - id: crc
        type: u4
        doc: "the chain value behind next"
      # end of journal_trailer
  journal_page:
    seq:
      - id: stream
        size: 4088
      - id: trailer
        type: journal_trailer
