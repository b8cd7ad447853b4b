// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/verify_receipt.hpp"

#include <simdjson.h>

#include <algorithm>

#include "base/checksum.hpp"
#include "base/text_coding.hpp"

namespace varve {

namespace {

constexpr std::string_view k_schema = "varve.verify-receipt/1";

Json part_json(const VerifyReceipt::Part& part) {
  Json numbers = Json::object();
  for (const auto& [name, value] : part.numbers) {
    numbers.set(name, value);
  }
  return Json::object()
      .set("file", part.file)
      .set("device", part.device)
      .set("inode", part.inode)
      .set("size", part.size_bytes)
      .set("modified_ns", part.modified_ns)
      .set("proven_bytes", part.proven_bytes)
      .set("closed", part.closed)
      .set("proof", part.proof)
      .set("numbers", std::move(numbers));
}

// The document without its digest.
Json body_json(const VerifyReceipt& receipt) {
  Json options = Json::object();
  for (const auto& [name, value] : receipt.options) {
    options.set(name, value);
  }
  Json parts = Json::array();
  for (const VerifyReceipt::Part& part : receipt.parts) {
    parts.push(part_json(part));
  }
  return Json::object()
      .set("schema", k_schema)
      .set("format", receipt.format)
      .set("version", receipt.version)
      .set("store", receipt.store)
      .set("options", std::move(options))
      .set("verdict", to_text(receipt.verdict))
      .set("parts", std::move(parts));
}

std::string digest_of(const VerifyReceipt& receipt) {
  return base::to_hex(base::sha256(base::as_bytes(body_json(receipt).text())));
}

std::unexpected<Error> no_receipt(std::string message) {
  return fail(ErrorCode::invalid_argument, "receipt", std::move(message));
}

using simdjson::dom::element;
using simdjson::dom::object;

// Reads the members of a receipt; the first that is not as it should be is remembered.
class Reader {
 public:
  bool failed() const { return failed_; }

  std::string text(const object& in, const char* name) {
    std::string_view out;
    note(in[name].get_string().get(out));
    return failed_ ? std::string() : std::string(out);
  }
  std::uint64_t number(const object& in, const char* name) {
    std::uint64_t out = 0;
    note(in[name].get_uint64().get(out));
    return out;
  }
  std::int64_t integer(const object& in, const char* name) {
    std::int64_t out = 0;
    note(in[name].get_int64().get(out));
    return out;
  }
  bool flag(const object& in, const char* name) {
    bool out = false;
    note(in[name].get_bool().get(out));
    return out;
  }
  // Calls take(key, value) for each member of an object.
  template <class Take>
  void members(const object& in, const char* name, Take take) {
    object inner;
    const simdjson::error_code error = in[name].get_object().get(inner);
    note(error);
    if (error != simdjson::SUCCESS) {
      return;
    }
    for (const auto& [key, content] : inner) {
      take(std::string(key), content);
    }
  }
  void note(simdjson::error_code error) { failed_ = failed_ || error != simdjson::SUCCESS; }

 private:
  bool failed_ = false;
};

VerifyReceipt::Part read_part(Reader& reader, const object& in) {
  VerifyReceipt::Part part;
  part.file = reader.text(in, "file");
  part.device = reader.number(in, "device");
  part.inode = reader.number(in, "inode");
  part.size_bytes = reader.number(in, "size");
  part.modified_ns = reader.integer(in, "modified_ns");
  part.proven_bytes = reader.number(in, "proven_bytes");
  part.closed = reader.flag(in, "closed");
  part.proof = reader.text(in, "proof");
  reader.members(in, "numbers", [&](std::string name, const element& content) {
    std::uint64_t number = 0;
    reader.note(content.get_uint64().get(number));
    part.numbers.emplace(std::move(name), number);
  });
  return part;
}

std::optional<Verdict> verdict_of(std::string_view text) {
  for (const Verdict verdict :
       {Verdict::clean, Verdict::torn, Verdict::unknown, Verdict::damaged}) {
    if (to_text(verdict) == text) {
      return verdict;
    }
  }
  return std::nullopt;
}

VerifyReceipt read_receipt(Reader& reader, const object& in) {
  VerifyReceipt receipt;
  receipt.format = reader.text(in, "format");
  receipt.version = static_cast<std::uint32_t>(reader.number(in, "version"));
  receipt.store = reader.text(in, "store");
  reader.members(in, "options", [&](std::string name, const element& content) {
    std::string_view text;
    reader.note(content.get_string().get(text));
    receipt.options.emplace(std::move(name), text);
  });
  const auto verdict = verdict_of(reader.text(in, "verdict"));
  reader.note(verdict ? simdjson::SUCCESS : simdjson::INCORRECT_TYPE);
  receipt.verdict = verdict.value_or(Verdict::unknown);
  simdjson::dom::array parts;
  if (in["parts"].get_array().get(parts) != simdjson::SUCCESS) {
    reader.note(simdjson::INCORRECT_TYPE);
    return receipt;
  }
  for (const element entry : parts) {
    object part;
    if (entry.get_object().get(part) != simdjson::SUCCESS) {
      reader.note(simdjson::INCORRECT_TYPE);
      break;
    }
    receipt.parts.push_back(read_part(reader, part));
  }
  return receipt;
}

}  // namespace

void VerifyReceipt::Part::identify(const io::FileIdentity& identity) {
  device = identity.device;
  inode = identity.inode;
  size_bytes = identity.size_bytes;
  modified_ns = identity.modified_ns;
}

bool VerifyReceipt::Part::same_file(const io::FileIdentity& now) const {
  return device == now.device && inode == now.inode && now.type == io::FileType::regular;
}

bool VerifyReceipt::Part::unchanged(const io::FileIdentity& now) const {
  return same_file(now) && size_bytes == now.size_bytes && modified_ns == now.modified_ns;
}

std::uint64_t VerifyReceipt::Part::number(std::string_view name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

const VerifyReceipt::Part* VerifyReceipt::find(std::string_view file) const {
  const auto found = std::ranges::find(parts, file, &Part::file);
  return found == parts.end() ? nullptr : &*found;
}

Json to_json(const VerifyReceipt& receipt) {
  return body_json(receipt).set("sha256", digest_of(receipt));
}

Result<VerifyReceipt> parse_verify_receipt(std::string_view text) {
  simdjson::padded_string padded(text);
  // The whole text is checked before anything is taken from it.
  simdjson::dom::parser parser;
  object root;
  std::string_view schema;
  if (parser.parse(padded).get_object().get(root) != simdjson::SUCCESS ||
      root["schema"].get_string().get(schema) != simdjson::SUCCESS) {
    return no_receipt("this is no receipt of `verify`");
  }
  if (schema != k_schema) {
    return no_receipt("the receipt is of another kind or version: " + std::string(schema));
  }
  Reader reader;
  VerifyReceipt receipt = read_receipt(reader, root);
  const std::string digest = reader.text(root, "sha256");
  if (reader.failed()) {
    return no_receipt("the receipt is damaged: a member is missing or of the wrong type");
  }
  if (digest != digest_of(receipt)) {
    return no_receipt("the receipt is damaged: its digest does not hold");
  }
  return receipt;
}

}  // namespace varve
