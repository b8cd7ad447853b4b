// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "output/arrow_layout.hpp"

namespace varve::output {

namespace {

// What one exported schema owns. Children and dictionary may be moved out by the consumer, which
// leaves them without a release callback.
struct SchemaHolder {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<SchemaHolder> holder(static_cast<SchemaHolder*>(schema->private_data));
  for (ArrowSchema& child : holder->children) {
    if (child.release != nullptr) {
      child.release(&child);
    }
  }
  if (holder->dictionary.release != nullptr) {
    holder->dictionary.release(&holder->dictionary);
  }
  schema->release = nullptr;
}

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
      return "b";
    case ColumnType::uint8:
      return "C";
    case ColumnType::uint16:
      return "S";
    case ColumnType::uint32:
      return "I";
    case ColumnType::uint64:
      return "L";
    case ColumnType::int64:
      return "l";
    case ColumnType::timestamp_us:
      return "tsu:UTC";
    case ColumnType::text:
      return "u";
    case ColumnType::bytes:
      return "z";
  }
  return "n";
}

void fill(ArrowSchema* out, std::string name, const char* format, bool nullable,
          std::size_t children) {
  auto holder = std::make_unique<SchemaHolder>();
  holder->name = std::move(name);
  holder->children.resize(children);
  for (ArrowSchema& child : holder->children) {
    holder->pointers.push_back(&child);
  }
  *out = {};
  out->format = format;
  out->name = holder->name.c_str();
  out->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  out->n_children = static_cast<std::int64_t>(children);
  out->children = holder->pointers.data();
  out->release = release_schema;
  out->private_data = holder.release();
}

void export_node(const Schema& schema, const ArrowNode& node, ArrowSchema* out) {
  if (node.field < 0) {
    fill(out, node.name, "+s", false, node.children.size());
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      export_node(schema, node.children[i], out->children[i]);
    }
    return;
  }
  const Field& field = schema.fields[static_cast<std::size_t>(node.field)];
  fill(out, node.name, field.repeated_text ? "i" : format_of(field.type), field.nullable, 0);
  if (field.repeated_text) {
    ArrowSchema* dictionary = &static_cast<SchemaHolder*>(out->private_data)->dictionary;
    fill(dictionary, "", format_of(field.type), false, 0);
    out->dictionary = dictionary;
  }
}

void insert(ArrowNode& root, std::string_view name, int field) {
  ArrowNode* node = &root;
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    const std::string_view part = name.substr(0, dot);
    auto found = std::ranges::find_if(
        node->children, [&](const ArrowNode& n) { return n.field < 0 && n.name == part; });
    if (found == node->children.end()) {
      node->children.push_back({std::string(part), -1, {}});
      found = node->children.end() - 1;
    }
    node = &*found;
    name.remove_prefix(dot + 1);
  }
  node->children.push_back({std::string(name), field, {}});
}

}  // namespace

Result<ArrowNode> arrow_layout(const Schema& schema, const std::vector<std::string>& columns) {
  ArrowNode root;
  for (const std::string& column : columns) {
    const int field = schema.find(column);
    if (field < 0) {
      return fail(ErrorCode::invalid_argument, "column", "no column '" + column + "'");
    }
    insert(root, column, field);
  }
  for (std::size_t i = 0; columns.empty() && i < schema.fields.size(); ++i) {
    if (!schema.fields[i].computed) {
      insert(root, schema.fields[i].name, static_cast<int>(i));
    }
  }
  return root;
}

void export_arrow_schema(const Schema& schema, const ArrowNode& root, ArrowSchema* out) {
  export_node(schema, root, out);
}

}  // namespace varve::output
