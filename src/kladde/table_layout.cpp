// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/table_layout.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

namespace varve::kladde {

namespace {

constexpr std::size_t k_most_header_children = 600;
constexpr std::size_t k_most_children = 800;
constexpr std::size_t k_largest_child = 5;  // bytes of a page number's delta

using Indexes = std::vector<std::uint32_t>;

class Layouter {
 public:
  Layouter(const LayoutRequest& request, std::vector<NewStatement>& statements,
           base::ByteSpan payloads, const TakePages& take)
      : request_(request), statements_(statements), payloads_(payloads), take_(take) {}

  Result<TableLayout> run() {
    out_.shape.leaves = request_.leaves;
    Indexes all(statements_.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    header_ = all;
    if (!header_fits()) {
      VARVE_TRY(split(all));
    }
    VARVE_TRY(build_interior());
    finish_header();
    return std::move(out_);
  }

 private:
  // What was not touched for longest leaves the header first; if that is not enough, everything.
  Result<void> split(const Indexes& all) {
    Indexes old;
    header_.clear();
    for (const std::uint32_t index : all) {
      (statements_[index].untouched ? old : header_).push_back(index);
    }
    if (!old.empty()) {
      VARVE_TRY(write_leaves(groups_of(old)));
      if (header_fits()) {
        return {};
      }
    }
    auto groups = groups_of(header_);
    header_ = std::move(groups.back());
    groups.pop_back();
    VARVE_TRY(write_leaves(groups));
    if (!header_fits()) {
      VARVE_TRY(write_leaves({header_}));
      header_.clear();
    }
    return {};
  }

  base::ByteSpan payload_of(const NewStatement& statement) const {
    return statement.statement.kind == StatementKind::in_line
               ? payloads_.subspan(statement.payload, statement.statement.size)
               : base::ByteSpan();
  }

  // Cuts a list into runs that fill a page each.
  std::vector<Indexes> groups_of(const Indexes& list) const {
    std::vector<Indexes> groups;
    std::optional<TableEncoder> encoder;
    for (const std::uint32_t index : list) {
      const NewStatement& statement = statements_[index];
      if (!encoder || !encoder->add(statement.statement, payload_of(statement))) {
        encoder.emplace(request_.dialect, k_max_page_content);
        encoder->end_children();
        [[maybe_unused]] const bool fits = encoder->add(statement.statement, payload_of(statement));
        assert(fits);
        groups.emplace_back();
      }
      groups.back().push_back(index);
    }
    return groups;
  }

  void encode(TableEncoder& encoder, const Indexes& list, PageNumber page) {
    for (const std::uint32_t index : list) {
      NewStatement& statement = statements_[index];
      [[maybe_unused]] const bool fits = encoder.add(statement.statement, payload_of(statement));
      assert(fits);
      statement.table = page;
      statement.in_content = static_cast<std::uint16_t>(encoder.payload_position());
    }
  }

  Result<void> write_leaves(const std::vector<Indexes>& groups) {
    VARVE_ASSIGN(const std::vector<PageNumber> pages, take_(groups.size()));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      TableEncoder encoder(request_.dialect, k_max_page_content);
      encoder.end_children();
      encode(encoder, groups[i], pages[i]);
      out_.pages.push_back({pages[i],
                            static_cast<std::uint32_t>(groups[i].size()),
                            {encoder.content().begin(), encoder.content().end()}});
      out_.shape.leaves.insert(pages[i]);
    }
    return {};
  }

  bool leaves_changed() const {
    return request_.rebuild || out_.shape.leaves != request_.old->leaves;
  }

  // Whether the header's statements fit behind its children, as far as these are known.
  bool header_fits() const {
    TableEncoder encoder(request_.dialect, k_max_header_content);
    const auto& leaves = out_.shape.leaves;
    if (!leaves_changed()) {
      for (const PageNumber page : request_.old->header_names) {
        if (!encoder.add_child(page)) {
          return false;
        }
      }
    } else if (leaves.size() <= k_most_header_children) {
      for (const PageNumber page : leaves) {
        if (!encoder.add_child(page)) {
          return false;
        }
      }
    }
    encoder.end_children();
    std::size_t reserved = 0;
    if (leaves_changed() && leaves.size() > k_most_header_children) {
      reserved = k_largest_child * k_most_header_children;
    }
    for (const std::uint32_t index : header_) {
      const NewStatement& statement = statements_[index];
      if (!encoder.add(statement.statement, payload_of(statement)) ||
          encoder.size() + reserved > k_max_header_content) {
        return false;
      }
    }
    return true;
  }

  // Rebuilds the layers between the header and the leaves, where the leaves are not the old ones.
  Result<void> build_interior() {
    TableShape& shape = out_.shape;
    if (!leaves_changed()) {
      shape.header_names = request_.old->header_names;
      shape.interior = request_.old->interior;
      return {};
    }
    out_.dropped_interior = request_.old->interior;
    shape.header_names.assign(shape.leaves.begin(), shape.leaves.end());
    while (shape.header_names.size() > k_most_header_children) {
      const std::vector<PageNumber> below = std::move(shape.header_names);
      const std::size_t count = (below.size() + k_most_children - 1) / k_most_children;
      VARVE_ASSIGN(shape.header_names, take_(count));
      for (std::size_t i = 0; i < count; ++i) {
        TableEncoder encoder(request_.dialect, k_max_page_content);
        const std::size_t end = std::min((i + 1) * k_most_children, below.size());
        for (std::size_t child = i * k_most_children; child < end; ++child) {
          [[maybe_unused]] const bool fits = encoder.add_child(below[child]);
          assert(fits);
        }
        encoder.end_children();
        out_.pages.push_back(
            {shape.header_names[i], 0, {encoder.content().begin(), encoder.content().end()}});
        shape.interior.push_back(shape.header_names[i]);
      }
      std::ranges::sort(shape.header_names);
    }
    return {};
  }

  void finish_header() {
    TableEncoder encoder(request_.dialect, k_max_header_content);
    for (const PageNumber page : out_.shape.header_names) {
      [[maybe_unused]] const bool fits = encoder.add_child(page);
      assert(fits);
    }
    encoder.end_children();
    encode(encoder, header_, request_.slot);
    out_.header_statements = static_cast<std::uint32_t>(header_.size());
    out_.header_content.assign(encoder.content().begin(), encoder.content().end());
  }

  const LayoutRequest& request_;
  std::vector<NewStatement>& statements_;
  base::ByteSpan payloads_;
  const TakePages& take_;
  Indexes header_;
  TableLayout out_;
};

}  // namespace

Result<TableLayout> lay_out(const LayoutRequest& request, std::vector<NewStatement>& statements,
                            base::ByteSpan payloads, const TakePages& take) {
  return Layouter(request, statements, payloads, take).run();
}

}  // namespace varve::kladde
