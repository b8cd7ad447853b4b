// SPDX-License-Identifier: MIT OR Apache-2.0
// The metadata of each message is a FlatBuffers table, put together here field by field: the few
// tables that are needed (Message.fbs, Schema.fbs of Arrow's columnar format) have not changed for
// years, and a generated header would bind the build to one version of flatc.
#include "output/arrow_ipc.hpp"

#include <flatbuffers/flatbuffers.h>

#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace varve::output {

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;
using AnyOffset = Offset<void>;

constexpr std::int16_t k_metadata_version = 4;  // "V5"
// MessageHeader
constexpr std::uint8_t k_schema_message = 1;
constexpr std::uint8_t k_dictionary_message = 2;
constexpr std::uint8_t k_record_message = 3;
// Type
constexpr std::uint8_t k_type_int = 2;
constexpr std::uint8_t k_type_binary = 4;
constexpr std::uint8_t k_type_utf8 = 5;
constexpr std::uint8_t k_type_bool = 6;
constexpr std::uint8_t k_type_timestamp = 10;
constexpr std::uint8_t k_type_struct = 13;
constexpr std::int16_t k_microsecond = 2;

constexpr std::string_view k_continuation{"\xFF\xFF\xFF\xFF", 4};
constexpr std::string_view k_zeros{"\0\0\0\0\0\0\0\0", 8};

struct FieldNode {
  std::int64_t length;
  std::int64_t null_count;
};
struct Buffer {
  std::int64_t offset;
  std::int64_t length;
};

// Where field `number` of a table stands in its vtable.
constexpr flatbuffers::voffset_t slot(unsigned number) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * number);
}

// A table under construction. Whatever it refers to must have been made before it.
class Table {
 public:
  explicit Table(Builder& builder) : builder_(builder), start_(builder.StartTable()) {}
  template <class T>
  Table& value(unsigned field, T value) {
    builder_.AddElement<T>(slot(field), value, T{});
    return *this;
  }
  template <class T>
  Table& offset(unsigned field, Offset<T> offset) {
    builder_.AddOffset(slot(field), offset);
    return *this;
  }
  AnyOffset end() { return builder_.EndTable(start_); }

 private:
  Builder& builder_;
  flatbuffers::uoffset_t start_;
};

int integer_bits(char format) {
  switch (format) {
    case 'C':
      return 8;
    case 'S':
      return 16;
    case 'I':
    case 'i':
      return 32;
    case 'L':
    case 'l':
      return 64;
    default:
      return 0;
  }
}

AnyOffset make_int(Builder& builder, char format) {
  return Table(builder)
      .value(0, std::int32_t{integer_bits(format)})
      .value(1, static_cast<std::uint8_t>(format == 'i' || format == 'l'))
      .end();
}

std::pair<std::uint8_t, AnyOffset> make_type(Builder& builder, std::string_view format) {
  if (format == "tsu:UTC") {
    const auto zone = builder.CreateString("UTC");
    return {k_type_timestamp, Table(builder).value(0, k_microsecond).offset(1, zone).end()};
  }
  if (integer_bits(format[0]) != 0) {
    return {k_type_int, make_int(builder, format[0])};
  }
  const AnyOffset empty = Table(builder).end();
  switch (format[0]) {
    case 'b':
      return {k_type_bool, empty};
    case 'u':
      return {k_type_utf8, empty};
    case 'z':
      return {k_type_binary, empty};
    default:
      return {k_type_struct, empty};
  }
}

// `id` counts the dictionaries in the order of the schema.
AnyOffset make_field(Builder& builder, const ArrowSchema& schema, std::int64_t& id) {
  AnyOffset dictionary;
  if (schema.dictionary != nullptr) {
    const AnyOffset index = make_int(builder, schema.format[0]);
    dictionary = Table(builder).value(0, id++).offset(1, index).end();
  }
  std::vector<AnyOffset> children;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    children.push_back(make_field(builder, *schema.children[i], id));
  }
  const auto name = builder.CreateString(schema.name);
  const ArrowSchema& values = schema.dictionary != nullptr ? *schema.dictionary : schema;
  const auto [type, type_table] = make_type(builder, values.format);
  const auto child_vector = builder.CreateVector(children);
  Table table(builder);
  table.offset(0, name)
      .value(1, static_cast<std::uint8_t>((schema.flags & ARROW_FLAG_NULLABLE) != 0))
      .value(2, type)
      .offset(3, type_table)
      .offset(5, child_vector);
  if (schema.dictionary != nullptr) {
    table.offset(4, dictionary);
  }
  return table.end();
}

std::string finish(Builder& builder, std::uint8_t kind, AnyOffset header,
                   std::int64_t body_length) {
  builder.Finish(Table(builder)
                     .value(0, k_metadata_version)
                     .value(1, kind)
                     .offset(2, header)
                     .value(3, body_length)
                     .end());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

constexpr std::size_t padding(std::size_t bytes) { return (8 - bytes % 8) % 8; }

std::int64_t count_nulls(const std::uint8_t* validity, std::size_t rows) {
  if (validity == nullptr) {
    return 0;
  }
  std::size_t valid = 0;
  for (std::size_t i = 0; i < rows / 8; ++i) {
    valid += static_cast<std::size_t>(std::popcount(validity[i]));
  }
  for (std::size_t row = rows / 8 * 8; row < rows; ++row) {
    valid += (validity[row / 8] >> (row % 8)) & 1U;
  }
  return static_cast<std::int64_t>(rows - valid);
}

}  // namespace

// The buffers of one message, in its order, and what the metadata says about them.
struct ArrowIpcWriter::Body {
  std::vector<FieldNode> nodes;
  std::vector<Buffer> buffers;
  std::vector<std::string_view> parts;
  std::int64_t length = 0;

  void add_buffer(const void* data, std::size_t bytes) {
    const std::size_t length_here = data == nullptr ? 0 : bytes;
    buffers.push_back({length, static_cast<std::int64_t>(length_here)});
    parts.emplace_back(static_cast<const char*>(data), length_here);
    length += static_cast<std::int64_t>(length_here + padding(length_here));
  }

  void add_array(const ArrowSchema& schema, const ArrowArray& array) {
    const auto rows = static_cast<std::size_t>(array.length);
    const auto* validity = static_cast<const std::uint8_t*>(array.buffers[0]);
    nodes.push_back({array.length, count_nulls(validity, rows)});
    add_buffer(nodes.back().null_count == 0 ? nullptr : validity, (rows + 7) / 8);
    const char format = schema.format[0];
    if (format == '+') {
      for (std::int64_t i = 0; i < schema.n_children; ++i) {
        add_array(*schema.children[i], *array.children[i]);
      }
    } else if (format == 'u' || format == 'z') {
      const auto* offsets = static_cast<const std::int32_t*>(array.buffers[1]);
      add_buffer(offsets, (rows + 1) * sizeof(std::int32_t));
      add_buffer(array.buffers[2], static_cast<std::size_t>(offsets[rows]));
    } else if (format == 'b') {
      add_buffer(array.buffers[1], (rows + 7) / 8);
    } else {
      const std::size_t bits = format == 't' ? 64 : static_cast<std::size_t>(integer_bits(format));
      add_buffer(array.buffers[1], rows * bits / 8);
    }
  }

  AnyOffset record_batch(Builder& builder, std::int64_t rows) const {
    const auto node_vector = builder.CreateVectorOfStructs(nodes);
    const auto buffer_vector = builder.CreateVectorOfStructs(buffers);
    return Table(builder).value(0, rows).offset(1, node_vector).offset(2, buffer_vector).end();
  }
};

Result<bool> ArrowIpcWriter::begin(const std::map<std::string, std::string>& metadata) {
  Builder builder;
  std::int64_t id = 0;
  std::vector<AnyOffset> fields;
  for (std::int64_t i = 0; i < schema_.n_children; ++i) {
    fields.push_back(make_field(builder, *schema_.children[i], id));
  }
  std::vector<AnyOffset> pairs;
  for (const auto& [key, value] : metadata) {
    const auto key_text = builder.CreateString(key);
    const auto value_text = builder.CreateString(value);
    pairs.push_back(Table(builder).offset(0, key_text).offset(1, value_text).end());
  }
  const auto field_vector = builder.CreateVector(fields);
  const auto pair_vector = builder.CreateVector(pairs);
  const AnyOffset schema = Table(builder).offset(1, field_vector).offset(2, pair_vector).end();
  return write_message(finish(builder, k_schema_message, schema, 0), nullptr);
}

Result<bool> ArrowIpcWriter::write(const ArrowArray& array) {
  std::int64_t id = 0;
  VARVE_ASSIGN(const bool more, write_dictionaries(schema_, array, id));
  if (!more) {
    return false;
  }
  Body body;
  for (std::int64_t i = 0; i < schema_.n_children; ++i) {
    body.add_array(*schema_.children[i], *array.children[i]);
  }
  Builder builder;
  const AnyOffset batch = body.record_batch(builder, array.length);
  return write_message(finish(builder, k_record_message, batch, body.length), &body);
}

Result<bool> ArrowIpcWriter::write_dictionaries(const ArrowSchema& schema, const ArrowArray& array,
                                                std::int64_t& id) {
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    VARVE_ASSIGN(const bool more, write_dictionaries(*schema.children[i], *array.children[i], id));
    if (!more) {
      return false;
    }
  }
  if (schema.dictionary == nullptr) {
    return true;
  }
  const std::int64_t here = id++;
  Body body;
  body.add_array(*schema.dictionary, *array.dictionary);
  std::string content;
  for (const std::string_view part : body.parts) {
    content += part;
  }
  const auto [at, fresh] = written_.try_emplace(here);
  if (!fresh && at->second == content) {
    return true;
  }
  at->second = std::move(content);
  Builder builder;
  const AnyOffset values = body.record_batch(builder, array.dictionary->length);
  const AnyOffset batch = Table(builder).value(0, here).offset(1, values).end();
  return write_message(finish(builder, k_dictionary_message, batch, body.length), &body);
}

// A message with its body, or with none.
Result<bool> ArrowIpcWriter::write_message(std::string_view metadata, const Body* body) {
  // The length counts the padding behind the metadata; the prefix itself has eight bytes.
  const std::size_t pad = padding(metadata.size());
  std::array<std::byte, 4> length{};
  base::store_le(length.data(), static_cast<std::uint32_t>(metadata.size() + pad));
  std::string head(k_continuation);
  head += base::as_text(length);
  head += metadata;
  head += k_zeros.substr(0, pad);
  Result<bool> more = out_.write(head);
  for (std::size_t i = 0; body != nullptr && i < body->parts.size(); ++i) {
    const std::string_view part = body->parts[i];
    if (more && *more) {
      more = out_.write(part);
    }
    if (more && *more && padding(part.size()) != 0) {
      more = out_.write(k_zeros.substr(0, padding(part.size())));
    }
  }
  return more;
}

Result<bool> ArrowIpcWriter::end() {
  return out_.write(std::string(k_continuation) + std::string(k_zeros.substr(0, 4)));
}

}  // namespace varve::output
