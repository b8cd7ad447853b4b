// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/type_rules.hpp"

#include <algorithm>

#include "kladde/layout.hpp"

namespace varve::kladde {

namespace {

// Values nest no deeper than this, so that readers of values may recurse.
constexpr std::uint32_t k_max_nesting = 200;

// Calls visit(target) for every type whose values lie inside values of `type`.
template <class F>
void for_each_inside(const Type& type, F visit) {
  const auto all = [&](const std::vector<TypeField>& fields) {
    for (const TypeField& field : fields) {
      visit(field.type);
    }
  };
  switch (type.kind) {
    case TypeKind::structure:
      return all(type.fields);
    case TypeKind::enumeration:
      for (const TypeVariant& variant : type.variants) {
        all(variant.fields);
      }
      return;
    case TypeKind::sequence:
    case TypeKind::packed:
    case TypeKind::slotted:
    case TypeKind::small:
      for (const std::uint32_t target : type.references) {
        visit(target);
      }
      return;
    default:
      return;
  }
}

// An order in which every type comes behind all that it holds inside; nullopt if there is a circle.
std::optional<std::vector<std::uint32_t>> inside_out(const TypeTable& table) {
  enum class Colour : std::uint8_t { white, grey, black };
  std::vector<Colour> colours(table.size(), Colour::white);
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> stack;
  for (std::uint32_t root = 0; root < table.size(); ++root) {
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      if (colours[at] != Colour::white) {
        stack.pop_back();
        if (colours[at] == Colour::grey) {
          colours[at] = Colour::black;
          order.push_back(at);
        }
        continue;
      }
      colours[at] = Colour::grey;
      bool circle = false;
      for_each_inside(table[at], [&](std::uint32_t target) {
        circle = circle || colours[target] == Colour::grey;
        if (colours[target] == Colour::white) {
          stack.push_back(target);
        }
      });
      if (circle) {
        return std::nullopt;
      }
    }
  }
  return order;
}

std::optional<std::uint64_t> primitive_bytes(Primitive primitive) {
  switch (primitive) {
    case Primitive::u8:
    case Primitive::i8:
    case Primitive::boolean:
      return 1;
    case Primitive::u16:
    case Primitive::i16:
      return 2;
    case Primitive::u64:
    case Primitive::i64:
    case Primitive::f64:
      return 8;
    default:
      return 4;
  }
}

using Sizes = std::vector<std::optional<std::uint64_t>>;

std::optional<std::uint64_t> sum_of(const std::vector<TypeField>& fields, const Sizes& sizes) {
  std::uint64_t sum = 0;
  for (const TypeField& field : fields) {
    const auto size = sizes[field.type];
    if (!size || sum + *size > k_max_u32) {
      return std::nullopt;
    }
    sum += *size;
  }
  return sum;
}

std::optional<std::uint64_t> size_of(const Type& type, const Sizes& sizes) {
  switch (type.kind) {
    case TypeKind::primitive:
      return primitive_bytes(type.primitive);
    case TypeKind::structure:
      return sum_of(type.fields, sizes);
    case TypeKind::enumeration: {
      std::uint64_t largest = 0;
      for (const TypeVariant& variant : type.variants) {
        const auto size = sum_of(variant.fields, sizes);
        if (!size) {
          return std::nullopt;
        }
        largest = std::max(largest, *size);
      }
      return largest + type.width;
    }
    case TypeKind::opaque:
      return type.inline_size <= k_max_u32 ? std::optional(type.inline_size) : std::nullopt;
    case TypeKind::pointer:
      return 4;
    case TypeKind::slotted:
      return sizes[type.references.front()];
    default:
      return std::nullopt;
  }
}

Sizes sizes_in(const TypeTable& table, const std::vector<std::uint32_t>& order) {
  Sizes sizes(table.size());
  for (const std::uint32_t index : order) {
    sizes[index] = size_of(table[index], sizes);
  }
  return sizes;
}

// Walks from the root and checks what stands in which kind of place.
class PlaceCheck {
 public:
  PlaceCheck(const TypeTable& table, const Sizes& sizes)
      : table_(table), sizes_(sizes), seen_(table.size() * 2) {}

  std::optional<std::string> run() {
    const TypeKind root = table_.front().kind;
    if (root == TypeKind::sequence || root == TypeKind::packed) {
      return "the root is a sequence or packed";
    }
    visit(0, sizes_.front() ? Encoding::slotted : Encoding::packed);
    while (!waiting_.empty() && !breach_) {
      const auto [index, encoding] = waiting_.back();
      waiting_.pop_back();
      check(table_[index], encoding);
    }
    return breach_;
  }

 private:
  struct Visit {
    std::uint32_t index;
    Encoding encoding;
  };

  void visit(std::uint32_t index, Encoding encoding) {
    const std::size_t key = std::size_t{index} * 2 + (encoding == Encoding::packed ? 1 : 0);
    if (!seen_[key]) {
      seen_[key] = true;
      waiting_.push_back({index, encoding});
    }
  }
  // A value that stands among others.
  void visit_member(std::uint32_t index, Encoding encoding) {
    const TypeKind kind = table_[index].kind;
    if (kind == TypeKind::sequence) {
      breach_ = "a sequence stands only under a pointer, a packed wrapper or a small";
    } else if (kind == TypeKind::packed) {
      breach_ = "packed stands only under a pointer";
    } else if (encoding == Encoding::slotted && !sizes_[index]) {
      breach_ = "a type without fixed encoding stands in a slotted place";
    } else {
      visit(index, encoding);
    }
  }
  // The same where a sequence may stand as well.
  void visit_content(std::uint32_t index, Encoding encoding) {
    if (table_[index].kind == TypeKind::sequence) {
      visit(index, encoding);
    } else {
      visit_member(index, encoding);
    }
  }

  void check(const Type& type, Encoding encoding) {
    switch (type.kind) {
      case TypeKind::structure:
      case TypeKind::enumeration:
        for_each_inside(type, [&](std::uint32_t target) { visit_member(target, encoding); });
        break;
      case TypeKind::pointer:
        if (table_[type.references.front()].kind == TypeKind::packed) {
          visit(type.references.front(), Encoding::packed);
        } else {
          visit_content(type.references.front(), Encoding::slotted);
        }
        break;
      case TypeKind::sequence:
        visit_member(type.references.front(), encoding);
        break;
      case TypeKind::packed:
        visit_content(type.references.front(), Encoding::packed);
        break;
      case TypeKind::slotted:
        visit_member(type.references.front(), Encoding::slotted);
        break;
      case TypeKind::small:
        visit_content(type.references[0], Encoding::packed);
        visit_member(type.references[1], Encoding::packed);
        break;
      default:
        break;
    }
  }

  const TypeTable& table_;
  const Sizes& sizes_;
  std::vector<bool> seen_;
  std::vector<Visit> waiting_;
  std::optional<std::string> breach_;
};

bool nests_too_deep(const TypeTable& table, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> depths(table.size());
  for (const std::uint32_t index : order) {
    for_each_inside(table[index], [&](std::uint32_t target) {
      depths[index] = std::max(depths[index], depths[target] + 1);
    });
    if (depths[index] > k_max_nesting) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> find_breach(const TypeTable& table) {
  const auto order = inside_out(table);
  if (!order) {
    return "a type contains itself other than through a pointer";
  }
  if (nests_too_deep(table, *order)) {
    return "values nest deeper than " + std::to_string(k_max_nesting) + " levels";
  }
  return PlaceCheck(table, sizes_in(table, *order)).run();
}

std::vector<std::optional<std::uint64_t>> fixed_sizes(const TypeTable& table) {
  return sizes_in(table, inside_out(table).value_or(std::vector<std::uint32_t>{}));
}

}  // namespace varve::kladde
