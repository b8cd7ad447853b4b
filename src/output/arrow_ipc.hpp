// SPDX-License-Identifier: MIT OR Apache-2.0
// Arrow's IPC stream: a schema message, then for each batch its dictionaries and its columns, then
// the end mark. Metadata version 5, little-endian, no compression, buffers on 8-byte borders.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "output/arrow_layout.hpp"
#include "output/byte_sink.hpp"

namespace varve::output {

// Writes arrays that export_arrow_array made, under the schema that export_arrow_schema made. Each
// dictionary replaces the one of the batch before; one that did not change is not written again.
// Calls give false when nobody reads any more.
class ArrowIpcWriter {
 public:
  ArrowIpcWriter(const ArrowSchema& schema, ByteSink& out) : schema_(schema), out_(out) {}

  // `metadata` becomes the custom metadata of the schema.
  Result<bool> begin(const std::map<std::string, std::string>& metadata);
  Result<bool> write(const ArrowArray& array);
  Result<bool> end();

 private:
  struct Body;
  Result<bool> write_dictionaries(const ArrowSchema& schema, const ArrowArray& array,
                                  std::int64_t& id);
  Result<bool> write_message(std::string_view metadata, const Body* body);

  const ArrowSchema& schema_;
  ByteSink& out_;
  std::map<std::int64_t, std::string> written_;  // by id: the dictionary that readers have now
};

}  // namespace varve::output
