// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/data_pages.hpp"

#include <algorithm>

#include "base/pipeline.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t k_run_pages = 64;  // 256 KiB a read

struct PageFault {
  DataUse use;
  Fault fault;
  bool loose = false;  // the page is whole, but a Ref reaches past its content
};

// Some uses whose pages follow each other in the file.
struct Run {
  std::span<const DataUse> uses;
  std::vector<PageFault> faults;
  std::optional<Error> error;
};

void check_run(const io::File& file, std::uint64_t max_epoch, base::Bytes& buffer, Run& run) {
  const std::uint64_t first = run.uses.front().page;
  buffer.resize((run.uses.back().page - first + 1) * k_page_bytes);
  const auto got = file.read_at(buffer, first * k_page_bytes);
  if (!got) {
    run.error = got.error();
    return;
  }
  if (*got < buffer.size()) {
    run.error = changed_while_read(file, first * k_page_bytes).error();
    return;
  }
  for (const DataUse& use : run.uses) {
    const auto bytes =
        base::ByteSpan(buffer).subspan((use.page - first) * k_page_bytes, k_page_bytes);
    const auto view = expect_page(bytes, k_kind_data, max_epoch);
    if (!view) {
      run.faults.push_back({use, view.error(), false});
    } else if (use.first < k_content_offset || use.end > k_content_offset + view->content.size()) {
      run.faults.push_back(
          {use,
           {word::loose_reference, 0, Number::decimal(k_content_offset + view->content.size()),
            Number::decimal(use.end)},
           true});
    }
  }
}

// Whose bytes lie in a page, for messages. Made when the first is asked for: most stores have no
// damage, and one with a lot must not be searched through once a page.
class Owners {
 public:
  explicit Owners(const World& world) : world_(world) {}

  // The first few ids.
  std::string of(PageNumber page) {
    if (!made_) {
      make();
    }
    std::string out;
    std::size_t count = 0;
    const auto [begin, end] = std::ranges::equal_range(entries_, page, {}, &Entry::page);
    for (auto entry = begin; entry != end; ++entry) {
      if (entry != begin && entry->id == std::prev(entry)->id) {
        continue;
      }
      if (++count <= k_named) {
        out += (out.empty() ? "" : ", ") + std::to_string(entry->id);
      }
    }
    if (count > k_named) {
      out += " and " + std::to_string(count - k_named) + " more";
    }
    return out;
  }

 private:
  static constexpr std::size_t k_named = 5;
  struct Entry {
    PageNumber page = 0;
    Id id = 0;
    auto operator<=>(const Entry&) const = default;
  };

  void make() {
    for (const auto& [id, allocation] : world_.allocations) {
      allocation.fragments.for_each([&, owner = id](const Fragment& fragment) {
        if (fragment.kind == FragmentKind::ref) {
          entries_.push_back({static_cast<PageNumber>(fragment.address / k_page_bytes), owner});
        }
      });
    }
    std::ranges::sort(entries_);
    made_ = true;
  }

  const World& world_;
  std::vector<Entry> entries_;
  bool made_ = false;
};

Finding finding_of(Owners& owners, const PageFault& bad) {
  const std::string_view code = bad.fault.word;
  const char* what = code == word::page_check  ? " fails its checksum"
                     : code == word::page_kind ? " is of another kind"
                     : code == word::page_newer
                         ? " is newer than the header (the platform broke its fsync promise)"
                         : " is referred to past its content";
  Finding finding = page_finding(bad.use.page, k_data_page_unit, bad.fault,
                                 "data page " + std::to_string(bad.use.page) + what +
                                     "; it holds bytes of " + owners.of(bad.use.page));
  if (bad.loose) {
    finding.severity = Severity::warning;
  }
  return finding;
}

}  // namespace

Result<void> check_data_pages(const io::File& file, const LoadRequest& request,
                              const Policy& policy, World& world) {
  const std::span<const DataUse> uses = world.data_uses;
  const unsigned threads = base::thread_count(request.threads);
  std::vector<base::Bytes> buffers(threads);
  Owners owners(world);
  std::size_t next = 0;
  Result<void> outcome;
  const auto produce = [&]() -> std::optional<Run> {
    if (next == uses.size()) {
      return std::nullopt;
    }
    std::size_t end = next + 1;
    while (end < uses.size() && end - next < k_run_pages &&
           uses[end].page == uses[end - 1].page + 1) {
      ++end;
    }
    Run run;
    run.uses = uses.subspan(next, end - next);
    next = end;
    return run;
  };
  const auto work = [&](Run& run, unsigned worker) {
    check_run(file, world.header.epoch, buffers[worker], run);
  };
  const auto consume = [&](Run& run) {
    if (run.error) {
      outcome = std::unexpected(*run.error);
      return false;
    }
    for (const PageFault& bad : run.faults) {
      if (bad.loose && policy.is_strict()) {
        continue;
      }
      if (!bad.loose) {
        world.bad_pages.insert(bad.use.page);
      }
      outcome = policy.complain(finding_of(owners, bad));
      if (!outcome) {
        return false;
      }
    }
    world.bytes_checked += run.uses.size() * k_page_bytes;
    if (request.progress) {
      request.progress(world.bytes_checked);
    }
    return true;
  };
  base::run_ordered_pipeline<Run>(threads, std::size_t{4} * threads, produce, work, consume);
  return outcome;
}

}  // namespace varve::kladde
