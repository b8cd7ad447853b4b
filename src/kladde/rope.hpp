// SPDX-License-Identifier: MIT OR Apache-2.0
// Piece tables (section 14): the bytes of one allocation as a balanced tree of pieces that says
// where each stretch comes from. Splitting, joining and shifting cost O(log n), whatever is edited.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "varve/kladde.hpp"

namespace varve::kladde {

enum class PieceKind : std::uint8_t {
  zero,
  stored,   // bytes of an id in the committed state, from `at` on
  literal,  // bytes of the journal, at the file address `at`
};

struct Piece {
  PieceKind kind = PieceKind::zero;
  Id source = 0;  // stored
  std::uint32_t length = 0;
  std::uint64_t at = 0;

  // The part that begins `skip` bytes in and is `size` long.
  Piece part(std::uint32_t skip, std::uint32_t size) const {
    Piece out = *this;
    out.length = size;
    out.at += kind == PieceKind::zero ? 0 : skip;
    return out;
  }
};

// Holds the nodes of any number of ropes. A rope is named by its root; 0 is the empty one. Calls
// consume the roots they are given unless they are const.
class RopePool {
 public:
  using Root = std::uint32_t;

  RopePool() : nodes_(1) {}

  Root leaf(const Piece& piece);  // the empty rope for a piece of length 0
  std::uint32_t length(Root root) const { return nodes_[root].total; }
  Root join(Root left, Root right);
  // The first `at` bytes and the rest.
  std::pair<Root, Root> split(Root root, std::uint32_t at);
  // Where `fresh` is one piece, and one of just that length begins at `offset`: puts it there in
  // place, and consumes it. Else does nothing.
  bool replace_piece(Root root, std::uint32_t offset, Root fresh);
  void release(Root root);
  Root clone(Root root);
  // Nodes in use.
  std::size_t nodes() const { return used_; }
  // Nodes that clone() has made so far: the only work that is not in proportion to the calls.
  std::uint64_t cloned() const { return cloned_; }
  // Forgets every rope.
  void clear();

  // Calls visit(position, piece) for what lies within [from, to), clipped, in order.
  template <class F>
  void for_range(Root root, std::uint32_t from, std::uint32_t to, F visit) const {
    visit_range(root, 0, from, to, visit);
  }

 private:
  struct Node {
    Piece piece;
    Root left = 0;
    Root right = 0;
    std::uint32_t total = 0;
    std::uint8_t height = 0;
  };

  Root make(const Piece& piece);
  void update(Root root);
  Root join_around(Root left, Root middle, Root right);
  Root connect(Root left, Root middle, Root right);
  Root rotate_left(Root root);
  Root rotate_right(Root root);
  std::pair<Root, Root> take_last(Root root);  // what is left, the last node alone
  template <class F>
  void visit_range(Root root, std::uint32_t start, std::uint32_t from, std::uint32_t to,
                   F& visit) const;

  std::vector<Node> nodes_;  // [0] stands for the empty rope
  std::vector<Root> unused_;
  std::size_t used_ = 0;
  std::uint64_t cloned_ = 0;
};

template <class F>
void RopePool::visit_range(Root root, std::uint32_t start, std::uint32_t from, std::uint32_t to,
                           F& visit) const {
  if (root == 0 || from >= to || start >= to || start + nodes_[root].total <= from) {
    return;
  }
  const Node& node = nodes_[root];
  const std::uint32_t begin = start + nodes_[node.left].total;
  const std::uint32_t end = begin + node.piece.length;
  visit_range(node.left, start, from, to, visit);
  const std::uint32_t first = begin < from ? from : begin;
  const std::uint32_t last = end > to ? to : end;
  if (first < last) {
    visit(first, node.piece.part(first - begin, last - first));
  }
  visit_range(node.right, end, from, to, visit);
}

}  // namespace varve::kladde
