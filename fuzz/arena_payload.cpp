// SPDX-License-Identifier: MIT OR Apache-2.0
// Transactions, their outline, and the three small files of an arena: what decodes encodes to
// something that decodes to the same.
#include <string>

#include "arena/manifest.hpp"
#include "arena/transaction.hpp"
#include "arena/txn3.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace varve;
using fuzz::require;

void check_transaction(base::ByteSpan payload, const arena::PayloadRules& rules) {
  std::vector<arena::Mutation> mutations;
  if (arena::decode_transaction(payload, rules, mutations)) {
    return;
  }
  std::string text;
  arena::encode_transaction(mutations, text);
  std::vector<arena::Mutation> again;
  require(!arena::decode_transaction(base::as_bytes(text), rules, again));
  require(mutations.size() == again.size());
  std::string once_more;
  arena::encode_transaction(again, once_more);
  require(once_more == text);
  std::string scratch;
  require(arena::is_canonical(base::as_bytes(text), again, scratch));
  require(arena::is_canonical(payload, mutations, scratch) == (base::as_text(payload) == text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const base::ByteSpan rest{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  const std::string_view text = base::as_text(rest);
  arena::PayloadRules rules;
  rules.meaning_enabled = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) {
    rules.dimensions = 4096;
  }
  const std::string txn2 = std::string(arena::k_txn2_magic) + std::string(text);
  check_transaction(base::as_bytes(txn2), rules);
  const std::string txn3 = std::string(arena::k_txn3_magic) + std::string(text);
  if (const auto outline = arena::outline_txn3(base::as_bytes(txn3), rules)) {
    for (const arena::Txn3Element& element : outline->elements) {
      require(element.offset <= txn3.size() && element.length <= txn3.size() - element.offset);
    }
  }
  if (const auto manifest = arena::parse_manifest(text, std::nullopt)) {
    const auto again = arena::parse_manifest(arena::manifest_text(*manifest), std::nullopt);
    require(again.has_value() && *again == *manifest);
  }
  if (const auto schema = arena::parse_schema(text)) {
    const auto again = arena::parse_schema(arena::schema_text(*schema));
    require(again.has_value() && again->dimensions == schema->dimensions);
  }
  return 0;
}
