// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's entry in the registration table: detection, options, filters, opening.
#include <array>
#include <string>

#include "base/text_coding.hpp"
#include "kladde/salvage.hpp"
#include "kladde/view.hpp"
#include "kladde/writing.hpp"

namespace varve::kladde {

namespace {

constexpr std::string_view k_name_suffix = ".kladde";

constexpr FilterSpec k_filters[] = {
    {"id",
     "ID",
     "only records or rows of this allocation",
     true,
     "cat state export plan follow sql",
     {}},
};

constexpr OptionSpec k_options[] = {
    {"dialect", "D",
     "the revision of the address table (default a); no file says which one it uses",
     "info verify cat state get explain stats export plan sql init append recover compact backup "
     "salvage diff follow",
     "a b"},
    {"world", "W", "which header's world to look at (default newer)",
     "info verify cat state get explain stats export plan sql salvage diff follow", "newer older"},
    {"full", "", "first the header fields and the flushed state as transaction -1", "cat", {}},
    {"root", "", "the root value, shown by its type descriptor", "get", {}},
};

bool begins_with_magic(const io::File& file, std::uint64_t offset) {
  std::array<std::byte, k_magic.size()> start;
  const auto got = file.read_at(start, offset);
  return got && *got == start.size() && std::as_bytes(std::span(k_magic)).size() == start.size() &&
         std::equal(start.begin(), start.end(), std::as_bytes(std::span(k_magic)).begin());
}

class KladdeFormat final : public Format {
 public:
  std::string_view name() const override { return "kladde"; }
  std::string_view summary() const override {
    return "transactional store of allocations in one file";
  }
  std::span<const FilterSpec> filters() const override { return k_filters; }
  std::span<const OptionSpec> options() const override { return k_options; }
  bool has_seq() const override { return false; }
  bool has_time() const override { return false; }
  std::string_view key_help() const override { return "an allocation's ID, @OFFSET, or --root"; }
  std::string_view advice(Verdict verdict) const override {
    return verdict == Verdict::damaged
               ? "The format refuses this file as a whole. `varve state --partial` prints the "
                 "allocations whose pages hold; `--world older` looks at the world before the last "
                 "flush."
               : std::string_view();
  }

  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    const auto file = files.open_file(path, io::OpenMode::read);
    if (!file) {
      return Confidence::none;
    }
    if (begins_with_magic(**file, 0) || begins_with_magic(**file, k_page_bytes)) {
      return Confidence::by_content;
    }
    return path.ends_with(k_name_suffix) ? Confidence::by_name : Confidence::none;
  }

  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    return View::open(files, path, options);
  }

  std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                          std::string_view text) const override {
    const std::string bytes = R"({"$bytes":")" + base::to_base64(base::as_bytes(text)) + "\"}";
    const std::string id = std::to_string(number + 1);
    return ProbeRecord{
        R"({"op":"write","id":)" + id + R"(,"offset":0,"bytes":)" + bytes + "}", Face::state,
        "\"id\":" + id + ",\"size\":" + std::to_string(text.size()) + ",\"bytes\":" + bytes,
        "recover compact"};
  }

  Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    return init_store(files, path, request);
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) const override {
    return append_to_store(files, path, request);
  }
  Result<WriteReport> recover(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return recover_store(files, path, request);
  }
  Result<WriteReport> compact(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return compact_store(files, path, request);
  }
  Result<WriteReport> backup(io::FileSystem& files, const std::string& path,
                             const std::string& target,
                             const WriteRequest& request) const override {
    return backup_store(files, path, target, request);
  }
  Result<SalvageReport> salvage(io::FileSystem& files, const std::string& path,
                                const SalvageRequest& request,
                                FindingSink& findings) const override {
    return salvage_store(files, path, request, findings);
  }
};

}  // namespace

Result<Dialect> dialect_option(const std::map<std::string, std::string>& options) {
  const auto found = options.find("dialect");
  if (found == options.end() || found->second == "a") {
    return Dialect::a;
  }
  if (found->second != "b") {
    return fail(ErrorCode::invalid_argument, "dialect", "the dialect is a or b");
  }
  return Dialect::b;
}

Result<Generation> generation_option(const std::map<std::string, std::string>& options) {
  const auto found = options.find("world");
  if (found == options.end() || found->second == "newer") {
    return Generation::newer;
  }
  if (found->second != "older") {
    return fail(ErrorCode::invalid_argument, "world", "the world is newer or older");
  }
  return Generation::older;
}

const Format& format() {
  static const KladdeFormat instance;
  return instance;
}

}  // namespace varve::kladde
