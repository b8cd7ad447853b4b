# SPDX-License-Identifier: MIT OR Apache-2.0
meta:
  id: tay
  title: File of a Tay job store
  license: MIT OR Apache-2.0
  endian: be
doc: |
  Any file of a store: STORE, a segment, and of version 2 CURRENT, STORE-V2, ADOPTION, MANIFEST.
seq:
  - id: content
    type:
      switch-on: kind
      cases:
        0x54415949: store
        0x54415953: segment
        0x54415943: current
        0x54415932: marker
        0x54415941: marker
        0x5441594d: manifest
instances:
  kind:
    pos: 0
    type: u4
    doc: "TAYI, TAYS, TAYC, TAY2, TAYA or TAYM"
types:
  store:
    seq:
      # fields of store
      - id: magic
        size: 4
        doc: "\"TAYI\""
      - id: version
        type: u1
        doc: "1"
      - id: flags
        type: u1
        doc: "0"
      - id: reserved
        type: u2
        doc: "0"
      - id: store_id
        size: 16
        doc: "random, not all zero"
      - id: crc
        type: u4
        doc: "CRC-32C over [0,24)"
      # end of store
  segment:
    seq:
      - id: header
        type: segment_header
      - id: units
        type: unit
        repeat: eos
  unit:
    seq:
      - id: body
        type:
          switch-on: magic
          cases:
            0x54415900: record
            0x54415946: segment_footer
    instances:
      magic:
        pos: _io.pos
        type: u4
        doc: "TAY and a zero byte: a record; TAYF: the footer"
  segment_header:
    seq:
      # fields of segment_header
      - id: magic
        size: 4
        doc: "\"TAYS\""
      - id: version
        type: u1
        doc: "1"
      - id: flags
        type: u1
        doc: "0"
      - id: reserved
        type: u2
        doc: "0"
      - id: segment_id
        type: u8
        doc: "equals the file name"
      - id: first_sequence
        type: u8
        doc: "of the first record, present or future"
      - id: store_id
        size: 16
        doc: "equals STORE"
      - id: crc
        type: u4
        doc: "CRC-32C over [0,40)"
      # end of segment_header
  record:
    seq:
      # fields of record
      - id: magic
        size: 4
        doc: "\"TAY\" and a zero byte"
      - id: version
        type: u1
        doc: "1"
      - id: type
        type: u1
        doc: "of the event"
      - id: flags
        type: u1
        doc: "0"
      - id: schema
        type: u1
        doc: "of the payload"
      - id: sequence
        type: u8
        doc: "one above the record before"
      - id: payload_length
        type: u4
        doc: "bytes of the payload"
      - id: header_crc
        type: u4
        doc: "CRC-32C over [0,20)"
      # end of record
      - id: payload
        size: payload_length
      - id: trailer
        type: record_trailer
  record_trailer:
    seq:
      # fields of record_trailer
      - id: record_crc
        type: u4
        doc: "CRC-32C over the first 20 bytes and the payload"
      # end of record_trailer
  segment_footer:
    seq:
      # fields of segment_footer
      - id: magic
        size: 4
        doc: "\"TAYF\""
      - id: version
        type: u1
        doc: "1"
      - id: flags
        type: u1
        doc: "0"
      - id: reserved
        type: u2
        doc: "0"
      - id: segment_id
        type: u8
        doc: "as in the header"
      - id: first_sequence
        type: u8
        doc: "as in the header"
      - id: last_sequence
        type: u8
        doc: "first + count - 1"
      - id: record_count
        type: u8
        doc: "1 to 38347918"
      - id: store_id
        size: 16
        doc: "as in the header"
      - id: segment_crc
        type: u4
        doc: "CRC-32C over the header and all records"
      - id: crc
        type: u4
        doc: "CRC-32C over the footer's [0,60)"
      # end of segment_footer
  current:
    seq:
      # fields of current
      - id: magic
        size: 4
        doc: "\"TAYC\""
      - id: version
        type: u1
        doc: "1"
      - id: reserved
        size: 3
        doc: "zero"
      - id: store_id
        size: 16
        doc: "equals STORE"
      - id: epoch_id
        size: 16
        doc: "names the epoch's directory"
      - id: manifest_sha256
        size: 32
        doc: "of the whole MANIFEST"
      - id: crc
        type: u4
        doc: "CRC-32C over [0,72)"
      # end of current
  marker:
    seq:
      # fields of marker
      - id: magic
        size: 4
        doc: "\"TAY2\" or \"TAYA\""
      - id: version
        type: u1
        doc: "1"
      - id: reserved
        size: 3
        doc: "zero"
      - id: id
        size: 16
        doc: "STORE_ID; in ADOPTION the nonce of the old directory"
      - id: crc
        type: u4
        doc: "CRC-32C over [0,24)"
      # end of marker
  manifest:
    seq:
      # fields of manifest
      - id: magic
        size: 4
        doc: "\"TAYM\""
      - id: version
        type: u1
        doc: "1"
      - id: reserved
        size: 3
        doc: "zero"
      - id: length
        type: u4
        doc: "bytes of the map that follows"
      # end of manifest
      - id: map
        size: length
      - id: crc
        type: u4
        doc: "CRC-32C over everything before it"
