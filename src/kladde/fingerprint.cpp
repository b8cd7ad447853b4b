// SPDX-License-Identifier: MIT OR Apache-2.0
// Fingerprints of types (Appendix C), without recursion: tables may nest as deep as they are long.
#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "varve/kladde_types.hpp"

namespace varve::kladde {

namespace {

// The input of one node: bytes, and behind each stretch of them the token of a type.
struct Template {
  base::Bytes bytes;
  struct Token {
    std::size_t position;  // in `bytes`, where the token belongs
    std::uint32_t type;
  };
  std::vector<Token> tokens;
};

class TemplateWriter {
 public:
  Template write(const Type& type) {
    if (type.kind == TypeKind::primitive) {
      out_.u8(static_cast<std::uint8_t>(type.primitive));
      return std::move(template_);
    }
    out_.u8(static_cast<std::uint8_t>(type.kind));
    switch (type.kind) {
      case TypeKind::structure:
        put_fields(type.fields);
        break;
      case TypeKind::enumeration:
        out_.u8(type.width);
        out_.varint(type.variants.size());
        for (const TypeVariant& variant : type.variants) {
          out_.varint(variant.discriminant);
          put_text(variant.name);
          put_fields(variant.fields);
        }
        break;
      case TypeKind::opaque:
        put_text(type.library);
        put_text(type.name);
        out_.u8(type.major > 0 ? 1 : 0);
        out_.varint(type.major > 0 ? type.major : type.minor);
        out_.varint(type.inline_size);
        out_.varint(type.references.size());
        put_tokens(type.references);
        break;
      default:
        put_tokens(type.references);
        break;
    }
    return std::move(template_);
  }

 private:
  void put_text(std::string_view text) {
    out_.varint(text.size());
    out_.text(text);
  }
  void put_fields(const std::vector<TypeField>& fields) {
    out_.varint(fields.size());
    for (const TypeField& field : fields) {
      put_text(field.name);
      template_.tokens.push_back({out_.size(), field.type});
    }
  }
  void put_tokens(const std::vector<std::uint32_t>& references) {
    for (const std::uint32_t reference : references) {
      template_.tokens.push_back({out_.size(), reference});
    }
  }

  Template template_;
  base::ByteWriter out_{template_.bytes};
};

// A grey node: its template, and the input as far as it is built.
struct Visit {
  std::uint32_t type = 0;
  Template source;
  std::size_t next_token = 0;
  std::size_t copied = 0;
  base::Bytes input;
};

class Fingerprinter {
 public:
  explicit Fingerprinter(const TypeTable& table) : table_(table), nodes_(table.size()) {}

  Fingerprint run() {
    enter(0);
    while (!visits_.empty()) {
      step();
    }
    return nodes_.front().fingerprint;
  }

 private:
  enum class Colour : std::uint8_t { white, grey, black };
  struct Node {
    Colour colour = Colour::white;
    std::size_t depth = 0;
    Fingerprint fingerprint{};
  };

  void enter(std::uint32_t type) {
    nodes_[type].colour = Colour::grey;
    nodes_[type].depth = visits_.size();
    Visit visit;
    visit.type = type;
    visit.source = TemplateWriter().write(table_[type]);
    visits_.push_back(std::move(visit));
  }

  void copy_up_to(Visit& visit, std::size_t position) {
    const base::ByteSpan bytes(visit.source.bytes);
    const auto part = bytes.subspan(visit.copied, position - visit.copied);
    visit.input.insert(visit.input.end(), part.begin(), part.end());
    visit.copied = position;
  }

  // Goes on with the innermost node: to its next white child, or to its end.
  void step() {
    Visit& visit = visits_.back();
    base::ByteWriter input(visit.input);
    for (; visit.next_token < visit.source.tokens.size(); ++visit.next_token) {
      const Template::Token token = visit.source.tokens[visit.next_token];
      const Node& child = nodes_[token.type];
      if (child.colour == Colour::white) {
        return enter(token.type);  // this token again once the child is black
      }
      copy_up_to(visit, token.position);
      if (child.colour == Colour::black) {
        input.u8(0);
        input.bytes(child.fingerprint);
      } else {
        input.u8(1);
        input.varint(nodes_[visit.type].depth - child.depth);
      }
    }
    copy_up_to(visit, visit.source.bytes.size());
    const base::Sha256 digest = base::sha256(visit.input);
    Node& node = nodes_[visit.type];
    std::copy_n(digest.begin(), node.fingerprint.size(), node.fingerprint.begin());
    node.colour = Colour::black;
    visits_.pop_back();
  }

  const TypeTable& table_;
  std::vector<Node> nodes_;
  std::vector<Visit> visits_;
};

}  // namespace

Fingerprint type_fingerprint(const TypeTable& table) {
  return table.empty() ? Fingerprint{} : Fingerprinter(table).run();
}

}  // namespace varve::kladde
