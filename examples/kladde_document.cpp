// SPDX-License-Identifier: MIT OR Apache-2.0
// A document that is always whole: lines of text in a kladde store.
//
//   example_kladde_document FILE add TEXT | set NUMBER TEXT | remove NUMBER | show
//
// Each line is an allocation of its own; the root allocation is the list of their ids. A change of
// a line and of the list is one transaction: after a kill at any moment both are there, or neither.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "varve/kladde_store.hpp"

namespace {

using namespace varve;
using kladde::Id;

int complain(const Error& error) {
  std::fprintf(stderr, "example_kladde_document: %s\n", error.text().c_str());
  return exit_code(error);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Result<std::string> read_all(const kladde::Store& store, Id id) {
  std::string text(store.size(id), '\0');
  VARVE_TRY(store.read(id, 0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

class Document {
 public:
  static Result<Document> open(const std::string& file) {
    io::FileSystem& files = io::posix_file_system();
    if (!std::filesystem::exists(file)) {
      VARVE_TRY(kladde::Store::create(files, file));
    }
    Document document;
    VARVE_ASSIGN(document.store_, kladde::Store::open(files, file));
    VARVE_TRY(document.find_root());
    return document;
  }

  Result<void> add(std::string_view text) {
    VARVE_ASSIGN(const Id line, store_->fresh_id());
    lines_.push_back(line);
    return put(line, text);
  }
  Result<void> set(std::size_t number, std::string_view text) {
    return put(lines_.at(number), text);
  }
  Result<void> remove(std::size_t number) {
    kladde::Transaction change;
    change.free(lines_.at(number));
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(number));
    put_list(change);
    return commit(change);
  }
  Result<std::string> text(std::size_t number) const { return read_all(*store_, lines_[number]); }
  std::size_t size() const { return lines_.size(); }
  Result<void> close() { return store_->close(); }

 private:
  // The list of lines; a new store gets an empty one.
  Result<void> find_root() {
    root_ = store_->roots().root_allocation;
    if (root_ == 0) {
      VARVE_ASSIGN(root_, store_->fresh_id());
      kladde::Transaction birth;
      birth.resize(root_, 0);
      VARVE_TRY(store_->commit(birth));
      kladde::Roots roots = store_->roots();
      roots.root_allocation = root_;
      store_->set_roots(roots);
      return store_->flush();
    }
    VARVE_ASSIGN(const std::string list, read_all(*store_, root_));
    lines_.resize(list.size() / sizeof(Id));
    std::memcpy(lines_.data(), list.data(), lines_.size() * sizeof(Id));
    return {};
  }
  void put_list(kladde::Transaction& change) const {
    const auto list = std::as_bytes(std::span(lines_));
    change.resize(root_, static_cast<std::uint32_t>(list.size()));
    change.write(root_, 0, list);
  }
  Result<void> put(Id line, std::string_view text) {
    kladde::Transaction change;
    change.resize(line, static_cast<std::uint32_t>(text.size()));
    change.write(line, 0, bytes_of(text));
    put_list(change);
    return commit(change);
  }
  // Committed is safe from a kill; synced is safe from a power cut as well.
  Result<void> commit(const kladde::Transaction& change) {
    VARVE_TRY(store_->commit(change));
    return store_->sync();
  }

  std::unique_ptr<kladde::Store> store_;
  Id root_ = 0;
  std::vector<Id> lines_;
};

Result<int> run(const std::vector<std::string>& words) {
  VARVE_ASSIGN(Document document, Document::open(words[0]));
  const std::string& verb = words[1];
  const std::size_t number =
      words.size() > 2 ? std::strtoul(words[2].c_str(), nullptr, 10) - 1 : document.size();
  if (verb == "add" && words.size() == 3) {
    VARVE_TRY(document.add(words[2]));
  } else if (verb == "set" && words.size() == 4 && number < document.size()) {
    VARVE_TRY(document.set(number, words[3]));
  } else if (verb == "remove" && words.size() == 3 && number < document.size()) {
    VARVE_TRY(document.remove(number));
  } else if (verb == "show") {
    for (std::size_t i = 0; i < document.size(); ++i) {
      VARVE_ASSIGN(const std::string text, document.text(i));
      std::printf("%zu  %s\n", i + 1, text.c_str());
    }
  } else {
    return 64;
  }
  VARVE_TRY(document.close());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: example_kladde_document FILE add|set|remove|show ...\n");
    return 64;
  }
  const auto code = run({argv + 1, argv + argc});
  return code ? *code : complain(code.error());
}
