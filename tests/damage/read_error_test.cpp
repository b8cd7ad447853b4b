// SPDX-License-Identifier: MIT OR Apache-2.0
// A read that fails is an error of its own: it must not pass for the end of the log, nor for
// damage, whichever read it is.
#include <gtest/gtest.h>

#include "tests/damage/sample_stores.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

constexpr io::CallMask k_reading_calls =
    io::mask_of(io::CallKind::open) | io::mask_of(io::CallKind::identity) |
    io::mask_of(io::CallKind::list) | io::mask_of(io::CallKind::read) |
    io::mask_of(io::CallKind::seek);

// The outcome of one look: how it ended, and what it let out.
struct Outcome {
  std::optional<ErrorCode> error;
  Verdict verdict = Verdict::unknown;
  std::vector<std::string> lines;
};

// What `look(view, findings, outcome)` makes of the store at "/store".
template <class Look>
Outcome look_once(const Format& format, io::FileSystem& files, Look look) {
  Outcome outcome;
  OpenOptions open;
  open.threads = 1;
  auto view = format.open(files, "/store", open);
  if (!view) {
    outcome.error = view.error().code;
    return outcome;
  }
  FindingList findings;
  const auto report = look(**view, findings, outcome);
  if (report) {
    outcome.verdict = report->verdict;
  } else {
    outcome.error = report.error().code;
  }
  return outcome;
}

Outcome verify_once(const Format& format, io::FileSystem& files) {
  return look_once(format, files, [](StoreView& view, FindingList& findings, Outcome&) {
    VerifyRequest request;
    request.threads = 1;
    return view.verify(request, findings);
  });
}

Outcome scan_once(const Format& format, io::FileSystem& files, Face face) {
  return look_once(format, files, [&](StoreView& view, FindingList& findings, Outcome& outcome) {
    ScanRequest request;
    request.threads = 1;
    request.face = face;
    LineSink sink(view, face, outcome.lines);
    return view.scan(request, sink, findings);
  });
}

class ReadError : public ::testing::TestWithParam<SampleStore> {
 protected:
  // Runs `look` with each call failing in turn: it gives the error of the system, or what it gives
  // without the failure (of a call that it can do without).
  template <class Look>
  void with_each_call_failing(Look look) {
    const io::simulated::Image image = image_of(GetParam().path);
    io::SimulatedFileSystem healthy(image, {nullptr, false});
    const Outcome whole = look(healthy);
    if (whole.error) {
      GTEST_SKIP() << "this store has no such face";
    }
    std::uint64_t told = 0;
    for (std::uint64_t call = 0; !HasFailure(); ++call) {
      io::SimulatedFileSystem files(image, {nullptr, false});
      files.set_fault(io::Fault{call, io::FaultKind::io_error, false, k_reading_calls});
      const Outcome outcome = look(files);
      if (files.faults_met() == 0) {
        break;
      }
      if (outcome.error) {
        EXPECT_EQ(*outcome.error, ErrorCode::io) << "call " << call;
        EXPECT_NE(prefix_length(outcome.lines, whole.lines), SIZE_MAX) << "call " << call;
        ++told;
      } else {
        EXPECT_EQ(to_text(outcome.verdict), to_text(whole.verdict)) << "call " << call;
        EXPECT_EQ(outcome.lines, whole.lines) << "call " << call;
      }
    }
    EXPECT_GT(told, 2U);
  }
};

TEST_P(ReadError, IsNotTakenForDamageByVerify) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  with_each_call_failing([&](io::FileSystem& files) { return verify_once(format, files); });
}

TEST_P(ReadError, IsNotTakenForTheEndOfTheLog) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  with_each_call_failing(
      [&](io::FileSystem& files) { return scan_once(format, files, Face::log); });
}

TEST_P(ReadError, IsNotTakenForTheEndOfTheState) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  with_each_call_failing(
      [&](io::FileSystem& files) { return scan_once(format, files, Face::state); });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReadError);
INSTANTIATE_TEST_SUITE_P(Damage, ReadError, ::testing::ValuesIn(sample_stores()),
                         [](const auto& param) { return test_name(param.param.path); });

}  // namespace
}  // namespace varve::test
