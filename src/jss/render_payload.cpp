// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/render_payload.hpp"

#include "base/checksum.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "jss/cid.hpp"
#include "jss/dag_cbor.hpp"

namespace varve::jss {

namespace {

void append_record(std::string& out, bool wants_cid, base::ByteSpan payload) {
  if (payload.empty()) {
    out += ",\"cid\":null,\"record\":null";
    return;
  }
  const std::size_t before = out.size();
  if (wants_cid) {
    out += ",\"cid\":\"";
    append_record_cid(out, payload);
    out += "\",\"record\":";
  } else {
    out += ",\"cid\":null,\"record\":";
  }
  if (append_dag_cbor_json(out, payload)) {
    out.resize(before);
    out += ",\"cid\":null,\"record\":null,\"payload\":";
    base::append_json_bytes(out, payload);
  }
}

}  // namespace

void append_payload_members(std::string& out, bool is_record, base::ByteSpan payload,
                            PayloadForm form) {
  const bool wants_cid = is_record && !payload.empty();
  if (form == PayloadForm::json) {
    append_record(out, wants_cid, payload);
    return;
  }
  out += ",\"cid\":";
  if (wants_cid && !check_dag_cbor(payload)) {
    out += '"';
    append_record_cid(out, payload);
    out += '"';
  } else {
    out += "null";
  }
  switch (form) {
    case PayloadForm::base64:
      out += ",\"payload\":";
      base::append_json_bytes(out, payload);
      break;
    case PayloadForm::hex:
      out += ",\"hex\":\"";
      base::append_hex(out, payload);
      out += '"';
      break;
    case PayloadForm::sha256:
      out += ",\"sha256\":\"";
      base::append_hex(out, base::sha256(payload));
      out += '"';
      break;
    default:
      break;
  }
}

}  // namespace varve::jss
