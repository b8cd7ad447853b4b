// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers that take their time do not hold up who asks.
#include "serve/answer_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "serve/reading_files.hpp"
#include "tests/support.hpp"

namespace varve::serve {
namespace {

using std::chrono::milliseconds;

HttpResponse answer_of(std::string text, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body.emplace_back(std::move(text));
  return response;
}

std::string text_of(const HttpResponse& response) {
  return std::get<std::string>(response.body.at(0));
}

AnswerCache::Limits quick() {
  AnswerCache::Limits limits;
  limits.threads = 1;
  limits.waiting = 1;
  limits.wait = milliseconds(5);
  return limits;
}

TEST(AnswerCache, WorksOnceAndRemembers) {
  AnswerCache cache;
  int worked = 0;
  const auto work = [&](const auto&) {
    ++worked;
    return answer_of("a");
  };
  EXPECT_EQ(text_of(cache.answer("k", work)), "a");
  EXPECT_EQ(text_of(cache.answer("k", work)), "a");
  EXPECT_EQ(worked, 1);
}

TEST(AnswerCache, FailuresAreNotRemembered) {
  AnswerCache cache;
  int worked = 0;
  const auto work = [&](const auto&) { return answer_of("no", ++worked == 1 ? 500 : 200); };
  EXPECT_EQ(cache.answer("k", work).status, 500);
  EXPECT_EQ(cache.answer("k", work).status, 200);
}

TEST(AnswerCache, SaysThatItIsNotReadyAndWhenThereIsTooMuch) {
  AnswerCache cache(quick());
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  const auto slow = [gone](const auto&) {
    gone.wait();
    return answer_of("late");
  };
  EXPECT_EQ(cache.answer("a", slow).status, 202);
  EXPECT_EQ(cache.answer("a", slow).status, 202) << "the same work, not a second one";
  EXPECT_EQ(cache.answer("b", slow).status, 202) << "waits for the thread";
  EXPECT_EQ(cache.answer("c", slow).status, 503);
  go.set_value();
  HttpResponse response;
  while ((response = cache.answer("a", slow)).status == 202) {
  }
  EXPECT_EQ(text_of(response), "late");
}

TEST(AnswerCache, WhatNobodyAsksForAnyMoreIsCalledOff) {
  AnswerCache::Limits limits = quick();
  limits.forget = milliseconds(1);
  AnswerCache cache(limits);
  std::atomic<bool> begun = false;
  std::atomic<bool> stopped = false;
  const auto endless = [&](const std::shared_ptr<const StopSign>& sign) {
    begun = true;
    while (!sign->raised()) {
      std::this_thread::yield();
    }
    stopped = true;
    return answer_of("never", 500);
  };
  EXPECT_EQ(cache.answer("a", endless).status, 202);
  while (!begun) {  // what was not begun is only forgotten
    std::this_thread::yield();
  }
  while (!stopped) {
    cache.answer("b", [](const auto&) { return answer_of("b"); });
  }
}

TEST(AnswerCache, EndsWhatIsWorkedOnWhenItDies) {
  AnswerCache cache(quick());
  cache.answer("a", [](const std::shared_ptr<const StopSign>& sign) {
    while (!sign->raised()) {
      std::this_thread::yield();
    }
    return answer_of("never");
  });
}

TEST(AnswerCache, KeepsNoMoreThanItsLimits) {
  AnswerCache::Limits limits;
  limits.kept = 2;
  AnswerCache cache(limits);
  int worked = 0;
  const auto work = [&](const auto&) {
    ++worked;
    return answer_of("x");
  };
  for (const char* key : {"a", "b", "c", "a"}) {
    cache.answer(key, work);
  }
  EXPECT_EQ(worked, 4) << "the oldest was dropped";
}

TEST(ReadingFiles, OnlyReadsAndStopsWhenCalledOff) {
  test::ScratchDirectory scratch;
  test::write_file(scratch / "f", "content");
  auto sign = std::make_shared<StopSign>();
  ReadingFiles files(io::posix_file_system(), sign);
  const auto file = files.open_file((scratch / "f").string(), io::OpenMode::read);
  ASSERT_TRUE(file);
  std::byte buffer[7];
  EXPECT_EQ((*file)->read_at(buffer, 0).value_or(0), 7U);
  EXPECT_FALSE((*file)->write_at(buffer, 0));
  EXPECT_FALSE((*file)->truncate(0));
  EXPECT_FALSE((*file)->lock(io::LockKind::exclusive));
  for (const io::OpenMode mode :
       {io::OpenMode::read_write, io::OpenMode::create, io::OpenMode::create_exclusive}) {
    EXPECT_FALSE(files.open_file((scratch / "f").string(), mode));
  }
  const auto directory = files.open_directory(scratch.path().string());
  ASSERT_TRUE(directory);
  EXPECT_FALSE((*directory)->open_file("g", io::OpenMode::create));
  EXPECT_FALSE((*directory)->remove_file("f"));
  EXPECT_FALSE((*directory)->make_directory("d", 0700));
  sign->raise();
  EXPECT_EQ((*file)->read_at(buffer, 0).error().reason, "stopped");
  EXPECT_FALSE((*directory)->list());
  EXPECT_EQ(test::read_file(scratch / "f"), "content");
}

}  // namespace
}  // namespace varve::serve
