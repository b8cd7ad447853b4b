// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/tombstones.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "jss/dag_cbor.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

namespace {

// Collections have at most 255 bytes, so that the first byte tells where the record key begins.
void set_path(std::string& out, std::string_view collection, std::string_view rkey) {
  out.assign(1, static_cast<char>(collection.size()));
  out += collection;
  out += rkey;
}

}  // namespace

bool ends_account(std::uint8_t kind, base::ByteSpan payload) {
  return kind == std::uint8_t(Kind::sync) ||
         (kind == std::uint8_t(Kind::account) && is_account_deletion(payload));
}

void Tombstones::add(std::uint64_t seq, std::uint8_t kind, std::string_view did,
                     std::string_view collection, std::string_view rkey, std::string_view payload) {
  const bool ends_path = kind == std::uint8_t(Kind::update) || kind == std::uint8_t(Kind::remove);
  if (!ends_path && !ends_account(kind, base::as_bytes(payload))) {
    return;
  }
  auto found = accounts_.find(did);
  if (found == accounts_.end()) {
    found = accounts_.emplace(std::string(did), Account{}).first;
  }
  Account& account = found->second;
  if (!ends_path) {
    count_ += account.seq == 0 ? 1 : 0;
    account.seq = std::max(account.seq, seq);
    return;
  }
  std::string path;
  set_path(path, collection, rkey);
  const auto [at, is_new] = account.paths.try_emplace(std::move(path), seq);
  count_ += is_new ? 1 : 0;
  at->second = std::max(at->second, seq);
}

void Tombstones::clear() {
  accounts_.clear();
  count_ = 0;
}

bool Tombstones::supersedes(std::uint64_t seq, std::uint8_t kind, std::string_view did,
                            std::string_view collection, std::string_view rkey) const {
  if (!is_materialization(kind)) {
    return false;
  }
  const auto found = accounts_.find(did);
  if (found == accounts_.end()) {
    return false;
  }
  const Account& account = found->second;
  if (account.seq > seq) {
    return true;
  }
  if (account.paths.empty()) {
    return false;
  }
  thread_local std::string path;
  set_path(path, collection, rkey);
  const auto at = account.paths.find(path);
  return at != account.paths.end() && at->second > seq;
}

std::vector<BloomKey> Tombstones::accounts(std::size_t most) const {
  std::vector<BloomKey> out;
  if (accounts_.size() > most) {
    return out;
  }
  out.reserve(accounts_.size());
  for (const auto& [did, account] : accounts_) {
    out.push_back(BloomKey::of(did));
  }
  return out;
}

}  // namespace varve::jss
