// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/render_streams.hpp"

#include "base/json_writer.hpp"
#include "jss/cid.hpp"
#include "jss/dag_cbor.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

namespace {

void text_member(std::string& out, std::string_view key, std::string_view value) {
  out += ",\"";
  out += key;
  out += "\":";
  base::append_json_text_or_bytes(out, value);
}

template <class Integer>
void integer_member(std::string& out, std::string_view key, Integer value) {
  out += ",\"";
  out += key;
  out += "\":";
  base::append_integer(out, value);
}

// The payload under `key` (null if it is empty), or its bytes under "payload". True if it was
// decoded.
bool payload_member(std::string& out, std::string_view key, base::ByteSpan payload) {
  const std::size_t size_before = out.size();
  out += ",\"";
  out += key;
  out += "\":";
  if (payload.empty()) {
    out += "null";
    return false;
  }
  if (!append_dag_cbor_json(out, payload)) {
    return true;
  }
  out.resize(size_before);
  out += ",\"payload\":";
  base::append_json_bytes(out, payload);
  return false;
}

std::string_view operation_of(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(Kind::create_resync) ? k_kind_names[1]
                                                                : k_kind_names[kind];
}

// The members of a commit that both streams share, the first without its comma. `did` stands among
// them in the v2 stream only.
void commit_members(std::string& out, const Event& event, bool v2) {
  std::string record;
  const bool decoded = !event.payload.empty() && payload_member(record, "record", event.payload);
  const std::size_t from = out.size();
  if (decoded) {
    out += ",\"cid\":\"";
    append_record_cid(out, event.payload);
    out += '"';
  }
  text_member(out, "collection", event.collection);
  if (v2) {
    text_member(out, "did", event.did);
  }
  text_member(out, "operation", operation_of(event.kind));
  out += record;
  text_member(out, "rev", event.rev);
  text_member(out, "rkey", event.rkey);
  out.erase(from, 1);
}

}  // namespace

void append_stream_v2(std::string& out, const Event& event) {
  out +=
      "{\"$type\":\"message\",\"payload\":{"
      "\"$type\":\"network.bsky.jetstream.subscribeEvents#";
  if (is_commit(event.kind)) {
    out += "commit\",";
    commit_members(out, event, true);
    integer_member(out, "seq", event.seq);
  } else {
    const std::string_view name = k_kind_names[event.kind];
    out += name;
    out += '"';
    text_member(out, "did", event.did);
    payload_member(out, name, event.payload);
    integer_member(out, "seq", event.seq);
  }
  out += ",\"time\":\"";
  base::append_rfc3339(out, event.display_time());
  out += "\"}}";
}

bool append_stream_v1(std::string& out, const Event& event) {
  if (event.kind == static_cast<std::uint8_t>(Kind::sync) ||
      event.kind == static_cast<std::uint8_t>(Kind::create_resync)) {
    return false;
  }
  const std::size_t from = out.size();
  const bool commit = is_commit(event.kind);
  const std::string_view name = commit ? "commit" : k_kind_names[event.kind];
  if (commit) {
    out += ",\"commit\":{";
    commit_members(out, event, false);
    out += '}';
  } else {
    payload_member(out, name, event.payload);
  }
  integer_member(out, "cursor", event.seq);
  text_member(out, "did", event.did);
  text_member(out, "kind", name);
  integer_member(out, "time_us", event.display_time());
  out[from] = '{';
  out += '}';
  return true;
}

}  // namespace varve::jss
