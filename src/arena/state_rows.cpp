// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/state_rows.hpp"

#include <algorithm>

#include "arena/json_text.hpp"
#include "base/json_writer.hpp"

namespace varve::arena {

namespace {

enum StateColumn : std::size_t {
  k_kind,
  k_id,
  k_dim,
  k_indices,
  k_source_uri,
  k_version,
  k_metadata,
  k_chunks,
  k_children,
  k_composite_id,
  k_subject_id,
  k_relation_id,
  k_object_id,
  k_source,
  k_relation,
  k_target,
  k_properties,
  k_valid_from,
  k_valid_to,
  k_name,
  k_transitive,
  k_symmetric,
  k_input_relations,
  k_output_relation,
};

constexpr std::size_t k_batch_rows = 1024;
constexpr std::size_t k_batch_bytes = std::size_t{1} << 20;

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    base::append_json_text_or_bytes(out, texts[i]);
  }
  return out + ']';
}

class RowWriter {
 public:
  RowWriter(const std::vector<std::string>& ids, const std::function<Result<bool>(Batch)>& emit)
      : ids_(ids), emit_(emit), builder_(state_schema()) {}

  // Whether a row with these names is wanted.
  bool wanted(std::initializer_list<std::string_view> names) const {
    return ids_.empty() || std::ranges::any_of(names, [&](std::string_view name) {
             return std::ranges::find(ids_, name) != ids_.end();
           });
  }
  RowWriter& begin(std::string_view kind) { return text(k_kind, kind); }
  RowWriter& text(StateColumn column, std::string_view value) {
    builder_.add_bytes(column, value);
    return *this;
  }
  // A JSON string or null, as text.
  RowWriter& token(StateColumn column, const std::string& json) {
    if (json != "null") {
      builder_.add_bytes(column, text_of(json));
    }
    return *this;
  }
  RowWriter& number(StateColumn column, std::uint64_t value) {
    builder_.add_u64(column, value);
    return *this;
  }
  // False if the consumer has enough.
  Result<bool> end() {
    builder_.end_row();
    if (builder_.rows() < k_batch_rows && builder_.data_bytes() < k_batch_bytes) {
      return true;
    }
    return flush();
  }
  Result<bool> flush() {
    return builder_.rows() == 0 ? Result<bool>(true) : emit_(builder_.finish());
  }

 private:
  const std::vector<std::string>& ids_;
  const std::function<Result<bool>(Batch)>& emit_;
  BatchBuilder builder_;
};

Result<bool> write_vector(RowWriter& rows, std::string_view kind, const std::string& id,
                          const VectorValue& value, std::uint64_t dimensions) {
  if (!rows.wanted({id})) {
    return true;
  }
  rows.begin(kind).text(k_id, id);
  if (value.composed) {
    rows.number(k_dim, dimensions);
  } else {
    std::string indices = "[";
    for (std::size_t i = 0; i < value.vector.indices.size(); ++i) {
      if (i > 0) {
        indices += ',';
      }
      base::append_integer(indices, value.vector.indices[i]);
    }
    rows.number(k_dim, value.vector.dim).text(k_indices, indices + ']');
  }
  return rows.end();
}

Result<bool> write_vectors(RowWriter& rows, const LiveState& state) {
  for (const auto& [id, vector] : state.vectors) {
    VARVE_ASSIGN(const bool go_on,
                 write_vector(rows, "vector", id, *vector.value, state.dimensions()));
    if (!go_on) return false;
  }
  for (const auto& [id, value] : state.atoms) {
    VARVE_ASSIGN(const bool go_on, write_vector(rows, "atom", id, *value, state.dimensions()));
    if (!go_on) return false;
  }
  for (const auto& [id, value] : state.composites) {
    VARVE_ASSIGN(const bool go_on, write_vector(rows, "composite", id, *value, state.dimensions()));
    if (!go_on) return false;
  }
  return true;
}

Result<bool> write_documents(RowWriter& rows, const LiveState& state) {
  for (const auto& [id, document] : state.documents) {
    if (!rows.wanted({id})) {
      continue;
    }
    rows.begin("document").text(k_id, id).token(k_source_uri, document.source_uri);
    rows.token(k_version, document.version).text(k_metadata, document.metadata);
    VARVE_ASSIGN(const bool go_on, rows.text(k_chunks, document.chunks).end());
    if (!go_on) return false;
  }
  for (const auto& [id, children] : state.derived) {
    if (!rows.wanted({id})) {
      continue;
    }
    VARVE_ASSIGN(const bool go_on,
                 rows.begin("derived").text(k_id, id).text(k_children, json_list(children)).end());
    if (!go_on) return false;
  }
  return true;
}

Result<bool> write_relations(RowWriter& rows, const LiveState& state) {
  for (const auto& [composite, list] : state.triples) {
    for (const LiveTriple& triple : list) {
      if (!rows.wanted({composite, triple.subject_id, triple.relation_id, triple.object_id})) {
        continue;
      }
      rows.begin("triple").text(k_composite_id, composite).text(k_subject_id, triple.subject_id);
      VARVE_ASSIGN(
          const bool go_on,
          rows.text(k_relation_id, triple.relation_id).text(k_object_id, triple.object_id).end());
      if (!go_on) return false;
    }
  }
  for (const auto& [edge, relation] : state.relations) {
    const auto& [source, name, target] = edge;
    if (!rows.wanted({source, name, target})) {
      continue;
    }
    rows.begin("relation").text(k_source, source).text(k_relation, name).text(k_target, target);
    VARVE_ASSIGN(const bool go_on, rows.token(k_properties, relation.properties)
                                       .text(k_valid_from, relation.valid_from)
                                       .text(k_valid_to, relation.valid_to)
                                       .end());
    if (!go_on) return false;
  }
  for (const auto& [name, type] : state.relation_types) {
    if (!rows.wanted({name})) {
      continue;
    }
    rows.begin("relation_type").text(k_name, name).number(k_transitive, type.transitive ? 1 : 0);
    VARVE_ASSIGN(const bool go_on, rows.number(k_symmetric, type.symmetric ? 1 : 0).end());
    if (!go_on) return false;
  }
  for (const LiveRule& rule : state.rules) {
    if (!rows.wanted({rule.name})) {
      continue;
    }
    rows.begin("rule").text(k_name, rule.name);
    VARVE_ASSIGN(const bool go_on, rows.text(k_input_relations, json_list(rule.input_relations))
                                       .text(k_output_relation, rule.output_relation)
                                       .end());
    if (!go_on) return false;
  }
  return true;
}

// How a column's value stands in a line.
enum class Shape : std::uint8_t { text, json, real, number, boolean };

struct LineKey {
  StateColumn column;
  Shape shape;
};

// The keys of each kind's line, behind `kind`.
std::span<const LineKey> keys_of_line(std::string_view kind) {
  static constexpr LineKey k_vector[] = {
      {k_id, Shape::text}, {k_dim, Shape::number}, {k_indices, Shape::json}};
  static constexpr LineKey k_document[] = {{k_id, Shape::text},
                                           {k_source_uri, Shape::text},
                                           {k_version, Shape::text},
                                           {k_metadata, Shape::json},
                                           {k_chunks, Shape::json}};
  static constexpr LineKey k_derived[] = {{k_id, Shape::text}, {k_children, Shape::json}};
  static constexpr LineKey k_triple[] = {{k_composite_id, Shape::text},
                                         {k_subject_id, Shape::text},
                                         {k_relation_id, Shape::text},
                                         {k_object_id, Shape::text}};
  static constexpr LineKey k_edge[] = {{k_source, Shape::text},     {k_relation, Shape::text},
                                       {k_target, Shape::text},     {k_properties, Shape::text},
                                       {k_valid_from, Shape::real}, {k_valid_to, Shape::real}};
  static constexpr LineKey k_type[] = {
      {k_name, Shape::text}, {k_transitive, Shape::boolean}, {k_symmetric, Shape::boolean}};
  static constexpr LineKey k_rule[] = {
      {k_name, Shape::text}, {k_input_relations, Shape::json}, {k_output_relation, Shape::text}};
  if (kind == "document") return k_document;
  if (kind == "derived") return k_derived;
  if (kind == "triple") return k_triple;
  if (kind == "relation") return k_edge;
  if (kind == "relation_type") return k_type;
  if (kind == "rule") return k_rule;
  return k_vector;
}

}  // namespace

const Schema& state_schema() {
  static const Schema schema{{
      {"kind", ColumnType::text, false, true},
      {"id", ColumnType::text, true, false},
      {"dim", ColumnType::uint32, true, false},
      {"indices", ColumnType::text, true, false},
      {"source_uri", ColumnType::text, true, false},
      {"version", ColumnType::text, true, false},
      {"metadata", ColumnType::text, true, false},
      {"chunks", ColumnType::text, true, false},
      {"children", ColumnType::text, true, false},
      {"composite_id", ColumnType::text, true, false},
      {"subject_id", ColumnType::text, true, false},
      {"relation_id", ColumnType::text, true, false},
      {"object_id", ColumnType::text, true, false},
      {"source", ColumnType::text, true, false},
      {"relation", ColumnType::text, true, false},
      {"target", ColumnType::text, true, false},
      {"properties", ColumnType::text, true, false},
      {"valid_from", ColumnType::text, true, false},
      {"valid_to", ColumnType::text, true, false},
      {"name", ColumnType::text, true, false},
      {"transitive", ColumnType::boolean, true, false},
      {"symmetric", ColumnType::boolean, true, false},
      {"input_relations", ColumnType::text, true, false},
      {"output_relation", ColumnType::text, true, false},
  }};
  return schema;
}

Result<void> each_state_batch(const LiveState& state, const std::vector<std::string>& ids,
                              const std::function<Result<bool>(Batch)>& emit) {
  RowWriter rows(ids, emit);
  for (const auto part : {write_vectors, write_documents, write_relations}) {
    VARVE_ASSIGN(const bool go_on, part(rows, state));
    if (!go_on) {
      return {};
    }
  }
  VARVE_TRY(rows.flush());
  return {};
}

void append_state_line(std::string& out, const Batch& batch, std::size_t row) {
  const std::string_view kind = batch.columns[k_kind].bytes(row);
  out += "{\"kind\":\"";
  out += kind;
  out += '"';
  for (const LineKey& key : keys_of_line(kind)) {
    const Column& column = batch.columns[key.column];
    out += ",\"";
    out += state_schema().fields[key.column].name;
    out += "\":";
    if (column.is_null(row)) {
      out += "null";
      continue;
    }
    switch (key.shape) {
      case Shape::text:
        base::append_json_text_or_bytes(out, column.bytes(row));
        break;
      case Shape::json:
        out += column.bytes(row);
        break;
      case Shape::real:
        out += column.bytes(row);
        if (column.bytes(row).find_first_of(".eE") == std::string_view::npos) {
          out += ".0";
        }
        break;
      case Shape::number:
        base::append_integer(out, column.value<std::uint32_t>(row));
        break;
      case Shape::boolean:
        out += column.value<std::uint8_t>(row) != 0 ? "true" : "false";
        break;
    }
  }
  out += "}\n";
}

}  // namespace varve::arena
