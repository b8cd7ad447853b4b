// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/reader.hpp"

#include <algorithm>

#include "kladde/data_pages.hpp"
#include "kladde/resolver.hpp"

namespace varve::kladde {

namespace {

std::string id_text(Id id) { return "allocation " + std::to_string(id); }

class WorldLoad {
 public:
  WorldLoad(const io::File& file, const LoadRequest& request, const Policy& policy)
      : file_(file), request_(request), policy_(policy) {}

  Result<std::optional<World>> run() {
    VARVE_ASSIGN(const io::FileIdentity identity, file_.identity());
    world_.file_bytes = identity.size_bytes;
    world_.page_count = std::min(identity.size_bytes / k_page_bytes, k_max_pages);
    VARVE_ASSIGN(world_.slots, read_slots(file_));
    VARVE_ASSIGN(const auto slot,
                 choose_slot(world_.slots, world_.file_bytes, request_.generation, policy_));
    if (!slot) {
      return std::nullopt;
    }
    world_.slot = *slot;
    world_.header = world_.slots.slot[*slot].header;
    PageReader pages(file_, world_.page_count);
    VARVE_ASSIGN(world_.tree, walk_tables(pages, world_.slots, *slot,
                                          {request_.dialect, request_.max_memory_bytes}, policy_));
    world_.bytes_checked = world_.tree.pages.size() * k_page_bytes;
    VARVE_TRY(resolve_all(world_.tree, request_.dialect,
                          [&](Id id, std::span<const Statement>, Resolution resolution) {
                            return take(id, std::move(resolution));
                          }));
    collect_data_uses();
    if (request_.check_data) {
      VARVE_TRY(check_data_pages(file_, request_, policy_, world_));
    }
    return std::move(world_);
  }

 private:
  Result<void> take(Id id, Resolution resolution) {
    if (resolution.fault && world_.tree.complete) {
      Finding finding;
      finding.code = resolution.fault->word;
      finding.offset = std::uint64_t{world_.slot} * k_page_bytes;
      finding.unit = "allocation";
      finding.index = id;
      finding.expected = resolution.fault->expected;
      finding.actual = resolution.fault->actual;
      finding.message = finding.code == word::uncovered
                            ? id_text(id) + ": byte " + std::to_string(resolution.fault->offset) +
                                  " is covered by no statement"
                            : id_text(id) + ": two statements of one epoch state its size";
      VARVE_TRY(policy_.complain(std::move(finding)));
    }
    std::vector<Fragment> outside;
    resolution.allocation.fragments.for_each([&](const Fragment& fragment) {
      if (fragment.kind != FragmentKind::ref) {
        return;
      }
      const std::uint64_t page = fragment.address / k_page_bytes;
      if (page < k_first_free_page || page >= world_.page_count) {
        outside.push_back(fragment);
        return;
      }
      const auto first = static_cast<std::uint16_t>(fragment.address % k_page_bytes);
      world_.data_uses.push_back({static_cast<PageNumber>(page), first,
                                  static_cast<std::uint16_t>(first + fragment.size)});
    });
    for (const Fragment& fragment : outside) {
      VARVE_TRY(complain_outside(id, fragment));
    }
    // In the order of ids, which makes this cheap.
    world_.allocations.emplace_hint(world_.allocations.end(), id, std::move(resolution.allocation));
    return {};
  }

  Result<void> complain_outside(Id id, const Fragment& fragment) {
    const std::uint64_t page = fragment.address / k_page_bytes;
    return policy_.complain(page_finding(
        fragment.table, "table page",
        {word::reference, 0, Number::decimal(world_.page_count), Number::decimal(page)},
        id_text(id) + ": bytes " + std::to_string(fragment.start) + " to " +
            std::to_string(fragment.end()) + " refer to page " + std::to_string(page) +
            ", which is not in the file"));
  }

  void collect_data_uses() {
    auto& uses = world_.data_uses;
    std::sort(uses.begin(), uses.end(),
              [](const DataUse& a, const DataUse& b) { return a.page < b.page; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (kept > 0 && uses[kept - 1].page == uses[i].page) {
        uses[kept - 1].first = std::min(uses[kept - 1].first, uses[i].first);
        uses[kept - 1].end = std::max(uses[kept - 1].end, uses[i].end);
      } else {
        uses[kept++] = uses[i];
      }
    }
    uses.resize(kept);
    for (const DataUse& use : uses) {
      world_.data_pages.insert(use.page);
    }
  }

  const io::File& file_;
  const LoadRequest& request_;
  const Policy& policy_;
  World world_;
};

// Whether the rest of the page behind a place is zero.
Result<bool> rest_is_zero(PageReader& pages, Place place) {
  if (place.page < k_first_free_page || place.page >= pages.page_count()) {
    return true;
  }
  VARVE_ASSIGN(const base::ByteSpan bytes, pages.page(place.page));
  const auto rest = bytes.subspan(place.offset);
  return std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
}

class JournalRead {
 public:
  JournalRead(const io::File& file, const World& world, const LoadRequest& request,
              const Policy& policy, const TakeTransaction& take)
      : world_(world),
        policy_(policy),
        take_(take),
        pages_(file, world.page_count),
        walker_(pages_, world.header.epoch + 1, world.header.journal_pointer,
                request.max_memory_bytes) {}

  Result<Journal> run() {
    out_.epoch = world_.header.epoch + 1;
    const PageNumber pointer = world_.header.journal_pointer;
    out_.pointer_unusable = pointer < k_first_free_page;
    if (world_.uses(pointer) && pointer >= k_first_free_page) {
      VARVE_TRY(complain_in_use(pointer));
      out_.stop = StopReason::no_page;
      return std::move(out_);
    }
    for (;;) {
      VARVE_ASSIGN(const auto transaction, walker_.next());
      if (!transaction) {
        break;
      }
      VARVE_ASSIGN(const bool more, take(*transaction));
      if (!more) {
        break;
      }
    }
    fill_in();
    VARVE_TRY(check_pages());
    VARVE_ASSIGN(out_.tail_is_zero, rest_is_zero(pages_, out_.stop_place));
    return std::move(out_);
  }

 private:
  Result<bool> take(const JournalTransaction& transaction) {
    ++out_.transactions;
    records_.clear();
    RecordDecoder decoder(transaction.records);
    for (;;) {
      auto record = decoder.next();
      if (!record) {
        ++out_.malformed;
        VARVE_TRY(policy_.complain(malformed_transaction(transaction, record.error())));
        return true;
      }
      if (!*record) {
        break;
      }
      records_.push_back(**record);
    }
    out_.records += records_.size();
    for (const Record& record : records_) {
      ++out_.records_by_kind[static_cast<std::size_t>(record.kind)];
    }
    return take_ ? take_(transaction, records_) : Result<bool>(true);
  }

  Finding malformed_transaction(const JournalTransaction& transaction, const Fault& fault) const {
    Finding finding;
    finding.code = fault.word;
    finding.offset = transaction.start.file_offset();
    finding.length = transaction.start.page == transaction.end.page
                         ? transaction.end.offset - transaction.start.offset
                         : 0;
    finding.unit = "transaction";
    finding.index = transaction.index;
    finding.expected = fault.expected;
    finding.actual = fault.actual;
    const auto position = static_cast<std::uint32_t>(fault.offset);
    finding.message = "transaction " + std::to_string(transaction.index) +
                      " has a matching checksum, but its record at file offset " +
                      std::to_string(transaction.place_of(position).file_offset()) +
                      " is malformed";
    return finding;
  }

  void fill_in() {
    out_.stop = walker_.stop_reason();
    out_.stop_place = walker_.stop_place();
    out_.went_on = walker_.went_on();
    out_.pages.assign(walker_.pages().begin(), walker_.pages().end());
    out_.reached.assign(walker_.reached().begin(), walker_.reached().end());
    if (!out_.pages.empty()) {
      out_.stream_bytes = (out_.pages.size() - 1) * k_page_bytes + out_.stop_place.offset;
    }
  }

  Result<void> complain_in_use(PageNumber page) {
    return policy_.complain(
        page_finding(page, "journal page", {word::journal_in_use, 0, {}, {}},
                     "the journal goes on in page " + std::to_string(page) +
                         ", which the table uses: the next append would overwrite live data"));
  }

  // What a matching checksum says, but no writer may say.
  Result<void> check_pages() {
    for (const PageNumber page : out_.reached) {
      if (world_.uses(page)) {
        VARVE_TRY(complain_in_use(page));
      }
    }
    if (out_.stop == StopReason::next_below_two || out_.stop == StopReason::next_repeated) {
      const PageNumber last = out_.reached.back();
      Finding finding = page_finding(
          last, "journal page", {word::journal_next, 0, {}, {}},
          std::string("a page trailer with a matching checksum: ") + to_text(out_.stop));
      finding.offset += k_next_offset;
      finding.length = k_page_bytes - k_next_offset;
      VARVE_TRY(policy_.complain(std::move(finding)));
    }
    if (out_.stop == StopReason::transaction_over_memory) {
      Finding finding;
      finding.code = word::limit;
      finding.verdict = Verdict::unknown;
      finding.unit = "transaction";
      finding.index = out_.transactions;
      finding.offset = out_.stop_place.file_offset();
      finding.message = to_text(out_.stop);
      VARVE_TRY(policy_.complain(std::move(finding)));
    }
    return {};
  }

  const World& world_;
  const Policy& policy_;
  const TakeTransaction& take_;
  PageReader pages_;
  JournalWalker walker_;
  Journal out_;
  std::vector<Record> records_;
};

}  // namespace

Result<std::optional<World>> load_world(const io::File& file, const LoadRequest& request,
                                        const Policy& policy) {
  return WorldLoad(file, request, policy).run();
}

std::optional<Id> find_unsized(const World& world, Dialect dialect) {
  if (dialect == Dialect::a || !world.tree.complete) {
    return std::nullopt;
  }
  const auto unsized = std::ranges::find_if(world.allocations, [](const auto& entry) {
    return entry.second.exists && entry.second.witness_table == k_no_table;
  });
  return unsized == world.allocations.end() ? std::nullopt : std::optional(unsized->first);
}

Result<void> check_writable(const World& world, Dialect dialect, const std::string& path) {
  const auto id = find_unsized(world, dialect);
  if (!id) {
    return {};
  }
  Error error;
  error.code = ErrorCode::unsupported;
  error.path = path;
  error.reason = word::no_size;
  error.message = id_text(*id) +
                  " has content and nothing states its size, which no writer of dialect b leaves: "
                  "not written to (is the store of dialect a?)";
  return std::unexpected(std::move(error));
}

Result<Journal> read_journal(const io::File& file, const World& world, const LoadRequest& request,
                             const Policy& policy, const TakeTransaction& take) {
  return JournalRead(file, world, request, policy, take).run();
}

Result<Journal> replay_journal(const io::File& file, const World& world, const LoadRequest& request,
                               const Policy& policy, State& state,
                               const std::function<void(const Record&)>& see) {
  const auto replay = [&](const JournalTransaction& transaction,
                          std::span<const Record> records) -> Result<bool> {
    for (const Record& record : records) {
      if (see) {
        see(record);
      }
      const auto applied = state.apply(record, transaction.extents);
      if (!applied) {
        Finding finding;
        finding.code = applied.error().word;
        finding.verdict = finding.code == word::limit ? Verdict::unknown : Verdict::damaged;
        finding.offset = transaction.start.file_offset();
        finding.unit = "transaction";
        finding.index = transaction.index;
        finding.expected = applied.error().expected;
        finding.actual = applied.error().actual;
        finding.message = finding.code == word::limit
                              ? "replaying the journal needs more pieces than the limit allows"
                              : "a splice makes an allocation larger than 2^32-1 bytes";
        VARVE_TRY(policy.complain(std::move(finding)));
        return false;
      }
    }
    return true;
  };
  return read_journal(file, world, request, policy, replay);
}

Result<std::optional<std::uint64_t>> governing_epoch(const io::File& file) {
  VARVE_ASSIGN(const Slots slots, read_slots(file));
  if (!slots.governing) {
    return std::nullopt;
  }
  return slots.slot[*slots.governing].header.epoch;
}

}  // namespace varve::kladde
