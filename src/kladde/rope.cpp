// SPDX-License-Identifier: MIT OR Apache-2.0
// Height-balanced (AVL) trees with join as the basic operation: no randomness, so that no input can
// make a tree deep, and a recursion depth of at most 46 for 2^32 nodes.
#include "kladde/rope.hpp"

#include <algorithm>
#include <cassert>

namespace varve::kladde {

RopePool::Root RopePool::make(const Piece& piece) {
  Root root = 0;
  if (unused_.empty()) {
    root = static_cast<Root>(nodes_.size());
    nodes_.emplace_back();
  } else {
    root = unused_.back();
    unused_.pop_back();
  }
  ++used_;
  nodes_[root] = Node{piece, 0, 0, piece.length, 1};
  return root;
}

RopePool::Root RopePool::leaf(const Piece& piece) { return piece.length == 0 ? 0 : make(piece); }

void RopePool::update(Root root) {
  Node& node = nodes_[root];
  const Node& left = nodes_[node.left];
  const Node& right = nodes_[node.right];
  node.total = left.total + node.piece.length + right.total;
  node.height = static_cast<std::uint8_t>(1 + std::max(left.height, right.height));
}

RopePool::Root RopePool::connect(Root left, Root middle, Root right) {
  nodes_[middle].left = left;
  nodes_[middle].right = right;
  update(middle);
  return middle;
}

RopePool::Root RopePool::rotate_left(Root root) {
  const Root up = nodes_[root].right;
  connect(nodes_[root].left, root, nodes_[up].left);
  return connect(root, up, nodes_[up].right);
}

RopePool::Root RopePool::rotate_right(Root root) {
  const Root up = nodes_[root].left;
  connect(nodes_[up].right, root, nodes_[root].right);
  return connect(nodes_[up].left, up, root);
}

// One tree of everything in `left`, the node `middle`, and everything in `right`.
RopePool::Root RopePool::join_around(Root left, Root middle, Root right) {
  const int left_height = nodes_[left].height;
  const int right_height = nodes_[right].height;
  if (left_height > right_height + 1) {
    const Root inner = nodes_[left].left;
    const Root joined = join_around(nodes_[left].right, middle, right);
    if (nodes_[joined].height <= nodes_[inner].height + 1) {
      return connect(inner, left, joined);
    }
    const bool bent = nodes_[nodes_[joined].left].height > nodes_[nodes_[joined].right].height;
    const Root leaning = connect(inner, left, bent ? rotate_right(joined) : joined);
    return rotate_left(leaning);
  }
  if (right_height > left_height + 1) {
    const Root inner = nodes_[right].right;
    const Root joined = join_around(left, middle, nodes_[right].left);
    if (nodes_[joined].height <= nodes_[inner].height + 1) {
      return connect(joined, right, inner);
    }
    const bool bent = nodes_[nodes_[joined].right].height > nodes_[nodes_[joined].left].height;
    const Root leaning = connect(bent ? rotate_left(joined) : joined, right, inner);
    return rotate_right(leaning);
  }
  return connect(left, middle, right);
}

std::pair<RopePool::Root, RopePool::Root> RopePool::take_last(Root root) {
  const Root left = nodes_[root].left;
  if (nodes_[root].right == 0) {
    connect(0, root, 0);
    return {left, root};
  }
  const auto [rest, last] = take_last(nodes_[root].right);
  return {join_around(left, root, rest), last};
}

RopePool::Root RopePool::join(Root left, Root right) {
  if (left == 0 || right == 0) {
    return left == 0 ? right : left;
  }
  const auto [rest, last] = take_last(left);
  return join_around(rest, last, right);
}

std::pair<RopePool::Root, RopePool::Root> RopePool::split(Root root, std::uint32_t at) {
  if (root == 0) {
    return {0, 0};
  }
  assert(at <= nodes_[root].total);
  const Root left = nodes_[root].left;
  const Root right = nodes_[root].right;
  const std::uint32_t begin = nodes_[left].total;
  const std::uint32_t end = begin + nodes_[root].piece.length;
  if (at <= begin) {
    const auto [first, second] = split(left, at);
    return {first, join_around(second, root, right)};
  }
  if (at >= end) {
    const auto [first, second] = split(right, at - end);
    return {join_around(left, root, first), second};
  }
  const Piece piece = nodes_[root].piece;
  const Root tail = make(piece.part(at - begin, end - at));
  nodes_[root].piece = piece.part(0, at - begin);
  const Root first = join_around(left, root, 0);
  return {first, join_around(0, tail, right)};
}

bool RopePool::replace_piece(Root root, std::uint32_t offset, Root fresh) {
  if (nodes_[fresh].height != 1) {
    return false;
  }
  while (root != 0) {
    Node& node = nodes_[root];
    const std::uint32_t begin = nodes_[node.left].total;
    const std::uint32_t end = begin + node.piece.length;
    if (offset < begin) {
      root = node.left;
    } else if (offset >= end) {
      offset -= end;
      root = node.right;
    } else {
      if (offset != begin || nodes_[fresh].total != node.piece.length) {
        return false;
      }
      node.piece = nodes_[fresh].piece;
      release(fresh);
      return true;
    }
  }
  return false;
}

void RopePool::release(Root root) {
  if (root == 0) {
    return;
  }
  release(nodes_[root].left);
  release(nodes_[root].right);
  unused_.push_back(root);
  --used_;
}

RopePool::Root RopePool::clone(Root root) {
  if (root == 0) {
    return 0;
  }
  const Root left = clone(nodes_[root].left);
  const Root right = clone(nodes_[root].right);
  const Root copy = make(Piece(nodes_[root].piece));  // a copy: making may move the nodes
  ++cloned_;
  return connect(left, copy, right);
}

void RopePool::clear() {
  nodes_.resize(1);
  unused_.clear();
  used_ = 0;
  cloned_ = 0;
}

}  // namespace varve::kladde
