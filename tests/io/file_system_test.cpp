// SPDX-License-Identifier: MIT OR Apache-2.0
// What both file systems must do alike: each case runs on the operating system's and on the
// simulated one.
#include "varve/file_system.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/bytes.hpp"
#include "io/simulated.hpp"

namespace varve::io {
namespace {

using base::as_bytes;

// One of the two file systems with an empty directory to work in.
class Place {
 public:
  virtual ~Place() = default;
  virtual FileSystem& files() = 0;
  virtual std::string root() = 0;
  virtual void symlink(const std::string& path, const std::string& target) = 0;
  virtual void hard_link(const std::string& path, const std::string& existing) = 0;
  virtual void fifo(const std::string& path) = 0;
};

class PosixPlace final : public Place {
 public:
  PosixPlace() {
    std::string name = (std::filesystem::temp_directory_path() / "varve_io_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~PosixPlace() override { std::filesystem::remove_all(root_); }
  FileSystem& files() override { return posix_file_system(); }
  std::string root() override { return root_; }
  void symlink(const std::string& path, const std::string& target) override {
    std::filesystem::create_symlink(target, path);
  }
  void hard_link(const std::string& path, const std::string& existing) override {
    std::filesystem::create_hard_link(existing, path);
  }
  void fifo(const std::string& path) override { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }

 private:
  std::string root_;
};

class SimulatedPlace final : public Place {
 public:
  SimulatedPlace() { (void)files_.add_directory("/work"); }
  FileSystem& files() override { return files_; }
  std::string root() override { return "/work"; }
  void symlink(const std::string& path, const std::string& target) override {
    ASSERT_TRUE(files_.add_symlink(path, target));
  }
  void hard_link(const std::string& path, const std::string& existing) override {
    ASSERT_TRUE(files_.add_hard_link(path, existing));
  }
  void fifo(const std::string& path) override { ASSERT_TRUE(files_.add_other(path)); }

 private:
  SimulatedFileSystem files_;
};

class BothFileSystems : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "posix") {
      place_ = std::make_unique<PosixPlace>();
    } else {
      place_ = std::make_unique<SimulatedPlace>();
    }
    auto opened = files().open_directory(root());
    ASSERT_TRUE(opened) << opened.error().text();
    directory_ = std::move(*opened);
  }
  FileSystem& files() { return place_->files(); }
  std::string root() { return place_->root(); }
  std::string path(const std::string& name) { return root() + "/" + name; }

  std::unique_ptr<File> file(const std::string& name, OpenMode mode = OpenMode::create) {
    auto opened = directory_->open_file(name, mode);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }
  void put(const std::string& name, std::string_view text) {
    ASSERT_TRUE(file(name)->write_at(as_bytes(text), 0));
  }
  std::string get(const std::string& name) {
    auto opened = directory_->open_file(name, OpenMode::read);
    if (!opened) {
      return "error " + std::to_string(opened.error().system_errno);
    }
    return read(**opened, 0, 1 << 20);
  }
  static std::string read(const File& from, std::uint64_t offset, std::size_t count) {
    std::string out(count, '?');
    const auto n = from.read_at(std::as_writable_bytes(std::span(out)), offset);
    EXPECT_TRUE(n);
    out.resize(n ? *n : 0);
    return out;
  }
  template <class T>
  static int error_of(const Result<T>& result) {
    return result ? 0 : result.error().system_errno;
  }
  template <class T>
  static std::string reason_of(const Result<T>& result) {
    return result ? "" : result.error().reason;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    const auto entries = directory_->list();
    EXPECT_TRUE(entries);
    for (const DirectoryEntry& entry : *entries) {
      out.push_back(entry.name);
    }
    std::ranges::sort(out);
    return out;
  }

  std::unique_ptr<Place> place_;
  std::unique_ptr<Directory> directory_;
};

INSTANTIATE_TEST_SUITE_P(Io, BothFileSystems, ::testing::Values("posix", "simulated"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(BothFileSystems, ReadsWhatWasWrittenAndStopsAtTheEnd) {
  const auto f = file("a");
  ASSERT_TRUE(f->write_at(as_bytes("hello"), 3));
  EXPECT_EQ(read(*f, 0, 100), std::string("\0\0\0hello", 8));
  EXPECT_EQ(read(*f, 6, 100), "lo");
  EXPECT_EQ(read(*f, 8, 100), "");
  EXPECT_EQ(read(*f, 5000, 100), "");
  EXPECT_EQ(f->identity()->size_bytes, 8U);
}

TEST_P(BothFileSystems, WritesAcrossPages) {
  const auto f = file("a");
  const std::string big(20'000, 'x');
  ASSERT_TRUE(f->write_at(as_bytes(big), 1000));
  ASSERT_TRUE(f->write_at(as_bytes("YY"), 4095));
  const std::string all = read(*f, 0, 30'000);
  EXPECT_EQ(all.size(), 21'000U);
  EXPECT_EQ(all.substr(4094, 4), "xYYx");
}

TEST_P(BothFileSystems, TruncatesAndGrowsOverZeros) {
  const auto f = file("a");
  ASSERT_TRUE(f->write_at(as_bytes("0123456789"), 0));
  ASSERT_TRUE(f->truncate(4));
  ASSERT_TRUE(f->truncate(6));
  EXPECT_EQ(read(*f, 0, 100), std::string("0123\0\0", 6));
}

TEST_P(BothFileSystems, AllocatesAndPunches) {
  const auto f = file("a");
  ASSERT_TRUE(f->allocate(0, 16'384));
  EXPECT_EQ(f->identity()->size_bytes, 16'384U);
  EXPECT_GE(f->identity()->allocated_bytes, 16'384U);
  const std::string full(16'384, 'z');
  ASSERT_TRUE(f->write_at(as_bytes(full), 0));
  const auto punched = f->punch_hole(4096, 8192);
  if (!punched) {
    GTEST_SKIP() << "this file system cannot punch holes";
  }
  const std::string now = read(*f, 0, 20'000);
  EXPECT_EQ(now, full.substr(0, 4096) + std::string(8192, '\0') + full.substr(0, 4096));
  EXPECT_EQ(*f->next_hole(0), 4096U);
  EXPECT_EQ(*f->next_data(4096), std::optional<std::uint64_t>(12'288));
  EXPECT_EQ(*f->next_hole(12'288), 16'384U);
  EXPECT_EQ(*f->next_data(16'384), std::nullopt);
  EXPECT_EQ(error_of(f->allocate(0, 0)), EINVAL);
}

TEST_P(BothFileSystems, OpenModesMeanWhatTheySay) {
  EXPECT_EQ(error_of(directory_->open_file("a", OpenMode::read)), ENOENT);
  EXPECT_EQ(error_of(directory_->open_file("a", OpenMode::read_write)), ENOENT);
  ASSERT_TRUE(directory_->open_file("a", OpenMode::create_exclusive));
  EXPECT_EQ(error_of(directory_->open_file("a", OpenMode::create_exclusive)), EEXIST);
  EXPECT_TRUE(directory_->open_file("a", OpenMode::create));
  EXPECT_EQ(directory_->identity_of("a")->mode, 0600U);
  EXPECT_EQ(error_of(files().open_file(path("nowhere/a"), OpenMode::create)), ENOENT);
  EXPECT_EQ(error_of(files().open_file(path("a/b"), OpenMode::read)), ENOTDIR);
}

TEST_P(BothFileSystems, AWriteThroughAReadHandleFailsAndPoisons) {
  put("a", "text");
  const auto f = file("a", OpenMode::read);
  EXPECT_EQ(error_of(f->write_at(as_bytes("x"), 0)), EBADF);
  EXPECT_TRUE(f->poisoned());
  EXPECT_EQ(f->sync().error().code, ErrorCode::poisoned);
  EXPECT_EQ(read(*f, 0, 10), "text");
}

TEST_P(BothFileSystems, RefusesNamesThatAreNotPlain) {
  for (const std::string name : {"", ".", "..", "a/b", "/a"}) {
    EXPECT_EQ(reason_of(directory_->open_file(name, OpenMode::create)), "name") << name;
    EXPECT_EQ(reason_of(directory_->remove_file(name)), "name") << name;
  }
  EXPECT_EQ(reason_of(directory_->identity_of(std::string_view("a\0b", 3))), "name");
  EXPECT_EQ(error_of(directory_->open_file(std::string(300, 'n'), OpenMode::create)), ENAMETOOLONG);
}

TEST_P(BothFileSystems, DoesNotFollowLinksBelowADirectory) {
  put("real", "text");
  place_->symlink(path("link"), "real");
  ASSERT_TRUE(directory_->make_directory("dir", 0700));
  place_->symlink(path("dirlink"), "dir");
  EXPECT_EQ(directory_->identity_of("link")->type, FileType::symlink);
  EXPECT_EQ(error_of(directory_->open_file("link", OpenMode::read)), ELOOP);
  EXPECT_EQ(error_of(directory_->open_file("link", OpenMode::create)), ELOOP);
  EXPECT_EQ(error_of(directory_->open_file("link", OpenMode::create_exclusive)), EEXIST);
  EXPECT_EQ(error_of(directory_->open_directory("dirlink")), ENOTDIR);
  // A path that a user typed is another thing.
  EXPECT_EQ(files().identity_of(path("link"))->type, FileType::regular);
  EXPECT_TRUE(files().open_file(path("link"), OpenMode::read));
  EXPECT_TRUE(files().open_directory(path("dirlink")));
}

TEST_P(BothFileSystems, OpensRegularFilesOnly) {
  ASSERT_TRUE(directory_->make_directory("dir", 0700));
  place_->fifo(path("pipe"));
  EXPECT_EQ(reason_of(directory_->open_file("dir", OpenMode::read)), "file_type");
  EXPECT_EQ(error_of(directory_->open_file("dir", OpenMode::read_write)), EISDIR);
  EXPECT_EQ(reason_of(directory_->open_file("pipe", OpenMode::read)), "file_type");
  EXPECT_EQ(directory_->identity_of("pipe")->type, FileType::other);
  EXPECT_EQ(error_of(directory_->open_directory("pipe")), ENOTDIR);
  EXPECT_EQ(reason_of(files().open_file(root(), OpenMode::read)), "file_type");
}

TEST_P(BothFileSystems, RenameReplacesAndTheOtherDoesNot) {
  put("a", "A");
  put("b", "B");
  EXPECT_EQ(error_of(directory_->rename_no_replace("a", *directory_, "b")), EEXIST);
  EXPECT_EQ(get("b"), "B");
  ASSERT_TRUE(directory_->rename("a", *directory_, "b"));
  EXPECT_EQ(names(), std::vector<std::string>{"b"});
  EXPECT_EQ(get("b"), "A");
  ASSERT_TRUE(directory_->rename_no_replace("b", *directory_, "c"));
  EXPECT_EQ(get("c"), "A");
  EXPECT_EQ(error_of(directory_->rename("gone", *directory_, "c")), ENOENT);
}

TEST_P(BothFileSystems, RenamesAcrossDirectories) {
  ASSERT_TRUE(directory_->make_directory("sub", 0700));
  const auto sub = directory_->open_directory("sub");
  ASSERT_TRUE(sub);
  put("a", "A");
  ASSERT_TRUE(directory_->rename("a", **sub, "b"));
  EXPECT_EQ(names(), std::vector<std::string>{"sub"});
  EXPECT_EQ((*sub)->identity_of("b")->size_bytes, 1U);
  EXPECT_EQ((*sub)->identity_of("b")->links, 1U);
  EXPECT_EQ(error_of(directory_->rename("sub", **sub, "self")), EINVAL);
}

TEST_P(BothFileSystems, RenamesDirectoriesOntoEmptyOnes) {
  ASSERT_TRUE(directory_->make_directory("a", 0700));
  ASSERT_TRUE(directory_->make_directory("b", 0700));
  ASSERT_TRUE((*directory_->open_directory("b"))->open_file("f", OpenMode::create));
  put("file", "x");
  EXPECT_EQ(error_of(directory_->rename("a", *directory_, "b")), ENOTEMPTY);
  EXPECT_EQ(error_of(directory_->rename("a", *directory_, "file")), ENOTDIR);
  EXPECT_EQ(error_of(directory_->rename("file", *directory_, "a")), EISDIR);
  ASSERT_TRUE(directory_->rename("b", *directory_, "a"));
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "file"}));
}

TEST_P(BothFileSystems, AnOpenFileOutlivesItsName) {
  put("a", "text");
  const auto f = file("a", OpenMode::read_write);
  EXPECT_EQ(f->identity()->links, 1U);
  ASSERT_TRUE(directory_->remove_file("a"));
  EXPECT_EQ(f->identity()->links, 0U);
  ASSERT_TRUE(f->write_at(as_bytes("T"), 0));
  EXPECT_EQ(read(*f, 0, 10), "Text");
  EXPECT_EQ(error_of(directory_->remove_file("a")), ENOENT);
}

TEST_P(BothFileSystems, RemovesOnlyEmptyDirectories) {
  ASSERT_TRUE(directory_->make_directory("d", 0700));
  EXPECT_EQ(error_of(directory_->make_directory("d", 0700)), EEXIST);
  const auto d = directory_->open_directory("d");
  ASSERT_TRUE((*d)->open_file("f", OpenMode::create));
  EXPECT_EQ(error_of(directory_->remove_directory("d")), ENOTEMPTY);
  EXPECT_EQ(error_of(directory_->remove_file("d")), EISDIR);
  ASSERT_TRUE((*d)->remove_file("f"));
  EXPECT_EQ(error_of((*d)->remove_directory("f")), ENOENT);
  ASSERT_TRUE(directory_->remove_directory("d"));
  EXPECT_EQ(error_of((*d)->open_file("f", OpenMode::create)), ENOENT);
}

TEST_P(BothFileSystems, IdentitiesTellObjectsApart) {
  put("a", "A");
  place_->hard_link(path("b"), path("a"));
  put("c", "C");
  const auto a = *directory_->identity_of("a");
  const auto b = *directory_->identity_of("b");
  const auto c = *directory_->identity_of("c");
  EXPECT_TRUE(a.same_object(b));
  EXPECT_FALSE(a.same_object(c));
  EXPECT_EQ(a.links, 2U);
  EXPECT_GT(a.modified_ns, 0);
  EXPECT_EQ(directory_->identity()->type, FileType::directory);
  EXPECT_EQ(error_of(directory_->identity_of("nothing")), ENOENT);
}

TEST_P(BothFileSystems, LocksBetweenHandles) {
  const auto first = file("a");
  const auto second = file("a");
  ASSERT_TRUE(first->lock(LockKind::shared));
  ASSERT_TRUE(second->lock(LockKind::shared));
  EXPECT_EQ(first->lock(LockKind::exclusive).error().code, ErrorCode::locked);
  ASSERT_TRUE(second->unlock());
  ASSERT_TRUE(first->lock(LockKind::exclusive));
  EXPECT_EQ(second->lock(LockKind::shared).error().code, ErrorCode::locked);
  ASSERT_TRUE(first->lock(LockKind::exclusive));  // its own lock is never in the way
  {
    const auto third = file("b");
    ASSERT_TRUE(third->lock(LockKind::exclusive));
  }
  EXPECT_TRUE(file("b")->lock(LockKind::exclusive));  // closing released it
}

TEST_P(BothFileSystems, MakesMissingDirectories) {
  const auto made = files().make_directories(path("x/y/z"));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE((*made)->open_file("f", OpenMode::create));
  EXPECT_TRUE(files().open_directory(path("x/y/z/")));
  EXPECT_TRUE(files().make_directories(path("x/y")));
  put("file", "x");
  EXPECT_EQ(error_of(files().make_directories(path("file/sub"))), ENOTDIR);
}

TEST_P(BothFileSystems, OffsetsAndSizesBeyondReasonAreErrors) {
  const auto f = file("a");
  ASSERT_TRUE(f->write_at(as_bytes("x"), 0));
  EXPECT_FALSE(file("a")->write_at(as_bytes("x"), std::uint64_t{1} << 63));
  EXPECT_FALSE(file("a")->truncate(std::uint64_t{1} << 63));
  EXPECT_FALSE(file("a")->allocate(std::uint64_t{1} << 62, std::uint64_t{1} << 62));
  EXPECT_EQ(f->identity()->size_bytes, 1U);
  // Behind every end there is nothing; hostile offsets are no errors of the system.
  for (const std::uint64_t offset : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(read(*f, offset, 10), "");
    EXPECT_EQ(*f->next_data(offset), std::nullopt);
    EXPECT_EQ(*f->next_hole(offset), 1U);
    f->read_ahead(offset, UINT64_MAX);
  }
}

TEST_P(BothFileSystems, PathsWithDotsAndWithoutSense) {
  EXPECT_TRUE(files().make_directories(path("p/./q/../r")));
  EXPECT_TRUE(files().open_directory(path("p/q")));
  EXPECT_TRUE(files().open_directory(path("p/r/..")));
  EXPECT_EQ(error_of(files().open_directory("")), ENOENT);
  EXPECT_EQ(error_of(files().identity_of("")), ENOENT);
  const std::string with_nul = path(std::string("p\0x", 3));
  EXPECT_FALSE(files().identity_of(with_nul));
  EXPECT_FALSE(files().open_directory(with_nul));
  EXPECT_FALSE(files().open_file(with_nul, OpenMode::create));
}

}  // namespace
}  // namespace varve::io
