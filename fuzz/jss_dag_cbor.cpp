// SPDX-License-Identifier: MIT OR Apache-2.0
// Payloads: what is printed leads back to the same bytes, and all three walks agree.
#include <cstdlib>
#include <string>

#include "jss/dag_cbor.hpp"
#include "jss/dag_cbor_encode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve;
  const base::ByteSpan payload{reinterpret_cast<const std::byte*>(data), size};
  std::string json;
  const auto fault = jss::append_dag_cbor_json(json, payload);
  if (jss::check_dag_cbor(payload) != fault) {
    std::abort();
  }
  if (fault) {
    if (!json.empty() || jss::is_account_deletion(payload)) {
      std::abort();
    }
    return 0;
  }
  base::Bytes again;
  if (jss::encode_dag_cbor(json, again) != nullptr ||
      base::as_text(again) != base::as_text(payload)) {
    std::abort();
  }
  return 0;
}
