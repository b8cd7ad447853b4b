// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/explain_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace varve::output {

namespace {

constexpr int k_most_depth = 6;
constexpr std::size_t k_most_members = 100'000;

// What is wrong with the content, as opposed to the way to it.
bool is_about_content(const Error& error) {
  return error.code == ErrorCode::damaged || error.code == ErrorCode::torn ||
         error.code == ErrorCode::unsupported || error.code == ErrorCode::limit ||
         error.code == ErrorCode::not_a_store;
}

bool asked_for(const std::string& asked, const std::string& file) {
  return asked.empty() || asked == file ||
         (file.size() > asked.size() && file.ends_with("/" + asked));
}

}  // namespace

Result<Verdict> StoreExplainer::run(const ExplainRequest& where) {
  VARVE_ASSIGN(const io::FileIdentity identity, target_.files->identity_of(target_.path));
  if (identity.type == io::FileType::directory) {
    VARVE_TRY(explain_directory(where));
    return verdict_;
  }
  if (!where.file.empty() && where.file != io::split_path(target_.path).name) {
    return fail(ErrorCode::invalid_argument, "file",
                "the store is one file and has no member " + where.file, target_.path);
  }
  VARVE_TRY(explain_member("", where.offset));
  return verdict_;
}

void StoreExplainer::add(Finding finding) {
  if (!member_.empty()) {
    finding.file = member_;
  }
  if (finding.severity == Severity::error) {
    verdict_ = worse(verdict_, finding.verdict);
    if (complained_.size() < k_most_members) {
      complained_.insert(finding.file);
    }
  }
  findings_.add(std::move(finding));
}

void StoreExplainer::tell(const Error& error) {
  Finding finding = to_finding(error);
  const std::string prefix =
      path_in_store(target_.path, "x")
          .substr(0, target_.path.size() + (target_.path.ends_with('/') ? 0 : 1));
  finding.file = error.path.starts_with(prefix) ? error.path.substr(prefix.size()) : "";
  add(std::move(finding));
}

Result<void> StoreExplainer::explain_directory(const ExplainRequest& where) {
  const auto view = target_.format->open(*target_.files, target_.path, target_.options);
  if (!view) {
    if (!is_about_content(view.error())) {
      return std::unexpected(view.error());
    }
    tell(view.error());
    return explain_members(where);
  }
  const auto summary = (*view)->explain(where, rows_, *this);
  if (summary) {
    verdict_ = worse(verdict_, summary->verdict);
    const std::set<std::string> complained = complained_;
    for (const std::string& file : complained) {
      if (asked_for(where.file, file) && !where.offset && !rows_.seen().contains(file) &&
          !file.empty() && is_regular(file)) {
        VARVE_TRY(explain_member(file, where.offset));
      }
    }
    return {};
  }
  if (is_about_content(summary.error())) {
    tell(summary.error());
    return explain_members(where);
  }
  if (summary.error().code == ErrorCode::invalid_argument && !where.file.empty() &&
      is_regular(where.file)) {
    return explain_member(where.file, where.offset);
  }
  return std::unexpected(summary.error());
}

Result<void> StoreExplainer::explain_member(const std::string& file,
                                            std::optional<std::uint64_t> offset) {
  member_ = file;
  rows_.use_member(file);
  ExplainRequest request;
  request.offset = offset;
  const auto summary = target_.format->explain_member(
      *target_.files, path_in_store(target_.path, file), request, target_.options, rows_, *this);
  Result<void> done;
  if (summary) {
    verdict_ = worse(verdict_, summary->verdict);
  } else if (is_about_content(summary.error())) {
    tell(summary.error());
    done = explain_raw(file, summary.error());
  } else {
    done = std::unexpected(summary.error());
  }
  member_.clear();
  rows_.use_member("");
  return done;
}

// Not even the first unit could be made out.
Result<void> StoreExplainer::explain_raw(const std::string& file, const Error& error) {
  if (rows_.seen().contains(file)) {
    return {};
  }
  VARVE_ASSIGN(const auto opened,
               target_.files->open_file(path_in_store(target_.path, file), io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity identity, opened->identity());
  std::byte raw[32];
  VARVE_ASSIGN(const std::size_t got, opened->read_at(raw, 0));
  ExplainRow row;
  row.file = file;
  row.length = identity.size_bytes;
  row.field = "unreadable";
  row.value = error.reason;
  row.meaning = error.message;
  row.raw = base::as_text(base::ByteSpan(raw).first(got));
  row.check = ExplainRow::Check::fails;
  row.sort = ExplainRow::Class::gap;
  if (row.length != 0) {
    rows_.add(std::move(row));
  }
  return {};
}

Result<void> StoreExplainer::explain_members(const ExplainRequest& where) {
  std::set<std::string> members;
  VARVE_TRY(find_members("", 0, members));
  for (const std::string& file : members) {
    if (asked_for(where.file, file) && !rows_.seen().contains(file)) {
      VARVE_TRY(explain_member(file, where.offset));
    }
  }
  return {};
}

Result<void> StoreExplainer::find_members(const std::string& below, int depth,
                                          std::set<std::string>& found) {
  io::FileSystem& files = *target_.files;
  const auto directory = files.open_directory(path_in_store(target_.path, below));
  const auto entries = directory ? (*directory)->list() : Result<std::vector<io::DirectoryEntry>>();
  if (!directory || !entries) {
    return {};  // what may not be looked into is not shown
  }
  for (const io::DirectoryEntry& entry : *entries) {
    const std::string file = below.empty() ? entry.name : below + '/' + entry.name;
    if (entry.identity.type == io::FileType::directory && depth < k_most_depth) {
      VARVE_TRY(find_members(file, depth + 1, found));
    } else if (entry.identity.type == io::FileType::regular && found.size() < k_most_members &&
               target_.format->detect_member(files, path_in_store(target_.path, file)) !=
                   Confidence::none) {
      found.insert(file);
    }
  }
  return {};
}

bool StoreExplainer::is_regular(const std::string& file) const {
  const auto identity = target_.files->identity_of(path_in_store(target_.path, file));
  return identity && identity->type == io::FileType::regular;
}

}  // namespace varve::output
