// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/reach.hpp"

#include <map>
#include <set>

#include "base/text_coding.hpp"
#include "kladde/value.hpp"
#include "kladde/view.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t k_shown = 10;  // ids that a message lists

class ReachCheck {
 public:
  ReachCheck(const io::File& file, const World& world, const State& state, std::uint64_t max_bytes,
             FindingSink& findings)
      : file_(file), header_(world.header), state_(state), max_(max_bytes), findings_(findings) {}

  Result<void> run() {
    if (header_.schema_table == 0) {
      return {};
    }
    VARVE_ASSIGN(const auto bytes, contents(header_.schema_table));
    if (!bytes) {
      return {};
    }
    const auto table = decode_type_table(base::as_bytes(*bytes));
    if (!table) {
      note(word::type_table, "the schema table, allocation " +
                                 std::to_string(header_.schema_table) +
                                 ", is no descriptor table: " + table.error().message);
      return {};
    }
    const Fingerprint fingerprint = type_fingerprint(*table);
    if (fingerprint != header_.root_fingerprint) {
      note(word::fingerprint, "the header's root fingerprint is not that of the schema table, " +
                                  base::to_hex(fingerprint));
    }
    if (header_.root_allocation == 0) {
      return {};
    }
    const ValueReader reader(*table);
    VARVE_TRY(walk(reader));
    compare();
    return {};
  }

 private:
  struct Target {
    Id id;
    std::uint32_t type;
    bool root;
  };

  // nullopt if it does not exist or is too large to be looked into.
  Result<std::optional<std::string>> contents(Id id) {
    if (!state_.exists(id) || state_.size(id) > max_) {
      return std::nullopt;
    }
    std::string out;
    VARVE_TRY(append_contents(file_, state_, id, 0, state_.size(id), out));
    return out;
  }

  void note(const char* code, std::string message) {
    Finding finding = aside(Severity::note, code, 0, std::move(message));
    finding.unit = "types";
    findings_.add(std::move(finding));
  }

  Result<void> walk(const ValueReader& reader) {
    std::vector<Target> waiting{{header_.root_allocation, 0, true}};
    reached_.insert(header_.root_allocation);
    while (!waiting.empty()) {
      const Target target = waiting.back();
      waiting.pop_back();
      if (!state_.exists(target.id)) {
        dangling_.insert(target.id);
        continue;
      }
      const auto [leaf, fresh] = points_.try_emplace(target.type, true);
      if (fresh) {
        leaf->second = reader.may_point(target.type);
      }
      if (!leaf->second && !target.root) {
        continue;
      }
      VARVE_ASSIGN(const auto bytes, contents(target.id));
      const auto read = !bytes ? std::unexpected(ValueFault{0, "too large"})
                        : target.root
                            ? reader.read_root(base::as_bytes(*bytes), false)
                            : reader.read_target(target.type, base::as_bytes(*bytes), false);
      if (!read) {
        ++unreadable_;
        continue;
      }
      opaque_ = opaque_ || read->opaque;
      for (const PointerUse& pointer : read->pointers) {
        if (reached_.insert(pointer.target).second) {
          waiting.push_back({pointer.target, pointer.type, false});
        }
      }
    }
    return {};
  }

  void compare() {
    reached_.insert({header_.schema_table, header_.consolidator_state});
    std::vector<Id> leaked;
    for (const Id id : state_.ids()) {
      if (!reached_.contains(id)) {
        leaked.push_back(id);
      }
    }
    if (!dangling_.empty()) {
      note(word::dangling, std::to_string(dangling_.size()) +
                               " pointers lead to allocations that do not exist: " +
                               list(std::vector<Id>(dangling_.begin(), dangling_.end())));
    }
    if (!leaked.empty() && !opaque_ && unreadable_ == 0) {
      note(word::leak, std::to_string(leaked.size()) +
                           " allocations are neither reached from the root nor named by the "
                           "header: " +
                           list(leaked));
    }
    if (unreadable_ > 0) {
      note(word::value, std::to_string(unreadable_) +
                            " allocations do not hold what their type descriptor says; leaks "
                            "cannot be told");
    }
  }

  static std::string list(const std::vector<Id>& ids) {
    std::string out;
    for (std::size_t i = 0; i < ids.size() && i < k_shown; ++i) {
      out += (i == 0 ? "" : ", ") + std::to_string(ids[i]);
    }
    return ids.size() > k_shown ? out + " and more" : out;
  }

  const io::File& file_;
  const Header& header_;
  const State& state_;
  std::uint64_t max_;
  FindingSink& findings_;
  std::set<Id> reached_;
  std::set<Id> dangling_;
  std::map<std::uint32_t, bool> points_;
  std::uint64_t unreadable_ = 0;
  bool opaque_ = false;
};

}  // namespace

Result<void> check_reach(const io::File& file, const World& world, const State& state,
                         std::uint64_t max_memory_bytes, FindingSink& findings) {
  return ReachCheck(file, world, state, max_memory_bytes, findings).run();
}

}  // namespace varve::kladde
