// SPDX-License-Identifier: MIT OR Apache-2.0
// The framing of Arrow's IPC stream, byte by byte; that readers of others take it for the rows of
// `cat` is tests/handing_on's matter.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

template <class T>
T read_at(std::string_view bytes, std::size_t at) {
  T value{};
  EXPECT_LE(at + sizeof value, bytes.size());
  if (at + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
  }
  return value;
}

// Where field `number` of the root table of a FlatBuffers message stands; 0 if it has its default.
std::size_t field_position(std::string_view message, std::size_t number) {
  const auto table = read_at<std::uint32_t>(message, 0);
  const auto vtable =
      static_cast<std::size_t>(std::int64_t{table} - read_at<std::int32_t>(message, table));
  if (4 + 2 * number >= read_at<std::uint16_t>(message, vtable)) {
    return 0;
  }
  const auto offset = read_at<std::uint16_t>(message, vtable + 4 + 2 * number);
  return offset == 0 ? 0 : table + offset;
}

struct Message {
  int version = 0;
  int kind = 0;  // 1 schema, 2 dictionary, 3 records
  std::string_view body;
};

// The messages up to the end mark, behind which nothing may stand.
std::vector<Message> messages_of(std::string_view stream) {
  std::vector<Message> messages;
  std::size_t at = 0;
  for (;;) {
    EXPECT_EQ(at % 8, 0U);
    EXPECT_EQ(read_at<std::uint32_t>(stream, at), 0xFFFFFFFFU);
    const auto length = read_at<std::uint32_t>(stream, at + 4);
    at += 8;
    if (length == 0 || at + length > stream.size()) {
      EXPECT_EQ(length, 0U);
      break;
    }
    const std::string_view metadata = stream.substr(at, length);
    at += length;
    const std::size_t body_field = field_position(metadata, 3);
    const auto body = body_field == 0 ? 0 : read_at<std::int64_t>(metadata, body_field);
    messages.push_back({read_at<std::int16_t>(metadata, field_position(metadata, 0)),
                        read_at<std::uint8_t>(metadata, field_position(metadata, 1)),
                        stream.substr(at, static_cast<std::size_t>(body))});
    at += static_cast<std::size_t>(body);
  }
  EXPECT_EQ(at, stream.size());
  return messages;
}

class ExportArrow : public testing::Test {
 protected:
  ExportArrow() {
    write_file(scratch_ / "clean", "LINES 1\n10 one\n20 two\n30 three\n");
    write_file(scratch_ / "hurt", "LINES 1\n10 one\n!!\n30 three\n");
  }
  std::string at(const char* name) const { return (scratch_ / name).string(); }
  ScratchDirectory scratch_;
};

TEST_F(ExportArrow, ASchemaThenTheColumnsOfEachBatch) {
  const RunResult result = run_fake({"export", "--to", "arrow", at("clean")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto messages = messages_of(result.out);
  ASSERT_EQ(messages.size(), 4U);  // the format of the tests gives a batch a record
  EXPECT_EQ(messages[0].version, 4);
  EXPECT_EQ(messages[0].kind, 1);
  EXPECT_EQ(messages[0].body, "");
  EXPECT_THAT(result.out, testing::HasSubstr("varve.source"));
  const std::string_view body = messages[3].body;
  EXPECT_EQ(messages[3].kind, 3);
  // seq: a number; text: two offsets, then the bytes; every buffer on a border of eight.
  ASSERT_EQ(body.size(), 24U);
  EXPECT_EQ(read_at<std::uint64_t>(body, 0), 3U);
  EXPECT_EQ(read_at<std::int32_t>(body, 8), 0);
  EXPECT_EQ(read_at<std::int32_t>(body, 12), 5);
  EXPECT_EQ(body.substr(16), std::string_view("three\0\0\0", 8));
}

TEST_F(ExportArrow, DamageAndColumns) {
  const RunResult hurt = run_fake({"export", "--to", "arrow", "--columns", "seq", at("hurt")});
  EXPECT_EQ(hurt.exit_code, 2);
  EXPECT_THAT(hurt.err, testing::HasSubstr("line_checksum"));
  std::size_t bytes = 0;
  for (const Message& message : messages_of(hurt.out)) {
    bytes += message.body.size();
  }
  EXPECT_EQ(bytes, 2 * sizeof(std::uint64_t));
  const RunResult wrong = run_fake({"export", "--to", "arrow", "--payload", "none", at("clean")});
  EXPECT_EQ(wrong.exit_code, 64);
}

}  // namespace
}  // namespace varve::test
