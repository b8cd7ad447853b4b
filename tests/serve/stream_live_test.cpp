// SPDX-License-Identifier: MIT OR Apache-2.0
// Streams beside a writer: through flushing, rotation, sealing, compaction and reopening, to
// clients that come and go. Each gets each event once and in order.
#include <gtest/gtest.h>

#include <random>

#include "stream_support.hpp"
#include "tests/jss/generated_rows.hpp"
#include "varve/jss.hpp"
#include "varve/jss_compact.hpp"

namespace varve::serve {
namespace {

using test::FakeClient;
using test::seq_of;
using varve::test::ScratchDirectory;
constexpr auto v1 = StreamVersion::v1;
constexpr auto v2 = StreamVersion::v2;

jss::WriterOptions small_blocks() {
  return {.threads = 1, .block_rows = 13, .rotation_bytes = 6000};
}

// Writes an archive on a thread of its own, in pieces of random length, sealing and reopening now
// and then; another thread compacts what is sealed.
class BusyArchive {
 public:
  explicit BusyArchive(std::uint64_t rows) : rows_(rows) {
    EXPECT_TRUE(jss::Writer::create(io::posix_file_system(), path.string()));
  }
  void start(bool compacting) {
    writer_ = std::jthread([this] { write(); });
    if (compacting) {
      compacter_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const auto report = jss::compact(io::posix_file_system(), path.string(), {.threads = 1});
          if (report) {
            rewritten += report->rewritten.size();
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }
      });
    }
  }
  void join() {
    writer_.join();
    if (compacter_.joinable()) {
      compacter_.request_stop();
      compacter_.join();
    }
  }

  ScratchDirectory scratch;
  std::filesystem::path path = scratch / "archive";
  std::vector<jss::test::Row> written;  // read after join()
  std::atomic<std::uint64_t> rewritten = 0;

 private:
  void write() {
    jss::test::RowMaker maker(7, 40);
    std::mt19937 random(3);
    std::unique_ptr<jss::Writer> writer;
    while (written.size() < rows_) {
      if (!writer || random() % 40 == 0) {
        writer.reset();
        auto opened = jss::Writer::open(io::posix_file_system(), path.string(), small_blocks());
        ASSERT_TRUE(opened) << opened.error().text();
        writer = *std::move(opened);
      }
      for (auto piece = 1 + random() % 60; piece > 0 && written.size() < rows_; --piece) {
        jss::test::Row row = maker.next();
        if (written.size() + 1 == rows_) {
          row.kind = 4;  // the end, which each stream shows and no compaction drops
          row.collection = row.rkey = row.rev = row.payload = "";
        }
        const auto seq = writer->append(row.event());
        ASSERT_TRUE(seq) << seq.error().text();
        row.seq = *seq;
        written.push_back(std::move(row));
      }
      const auto flushed = writer->flush();
      ASSERT_TRUE(flushed) << flushed.error().text();
      if (random() % 15 == 0) {
        ASSERT_TRUE(writer->seal());
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    }
    ASSERT_TRUE(writer->close());
  }

  const std::uint64_t rows_;
  std::jthread writer_;
  std::jthread compacter_;
};

StreamServiceOptions quick(std::uint64_t kept_bytes) {
  StreamServiceOptions options;
  options.look_back = std::chrono::hours(24 * 365 * 100);
  options.tail.poll = std::chrono::milliseconds(2);
  options.tail.max_kept_bytes = kept_bytes;
  options.limits.wait = std::chrono::milliseconds(2);
  return options;
}

// A client that goes away after some frames and comes back with the next seq, until it has the
// last.
struct ReturningClient {
  StreamVersion version;
  std::uint64_t seed;
  std::vector<std::uint64_t> seqs = {};
  std::uint64_t visits = 0;

  void run(StreamService& service, std::uint64_t last_seq) {
    std::mt19937_64 random(seed);
    std::uint64_t next = 1;
    while (next <= last_seq) {
      ++visits;
      FakeClient client(service, version, "cursor=" + std::to_string(next), 1 + random() % 700, {},
                        last_seq);
      ASSERT_EQ(client.status, 101) << client.answer;
      client.socket.wait_for(SIZE_MAX - 1);  // until it leaves
      client.join();
      ASSERT_EQ(client.socket.close_code, 0) << client.socket.close_reason;
      for (const auto& message : client.socket.sent()) {
        seqs.push_back(seq_of(message.data));
      }
      next = seqs.empty() ? next : seqs.back() + 1;
    }
  }
};

void follow_and_check(bool compacting, std::uint64_t kept_bytes) {
  constexpr std::uint64_t k_rows = 6000;
  BusyArchive archive(k_rows);
  const auto service =
      StreamService::open(io::posix_file_system(), archive.path.string(), quick(kept_bytes));
  ASSERT_TRUE(service) << service.error().text();
  std::vector<ReturningClient> clients = {{v2, 1}, {v2, 2}, {v1, 3}, {v2, 4}};
  {
    std::vector<std::jthread> threads;
    for (ReturningClient& client : clients) {
      threads.emplace_back([&] { client.run(**service, k_rows); });
    }
    archive.start(compacting);
    archive.join();
    threads.clear();
  }
  std::set<std::uint64_t> left;  // in the archive at the end
  {
    StreamReader reader((*service)->tail().archive());
    reader.begin((*service)->tail().look_now().value(), {});
    for (auto block = reader.next(); block && *block != nullptr; block = reader.next()) {
      left.insert((*block)->seq, (*block)->seq + (*block)->rows);
    }
  }
  ASSERT_EQ(archive.written.size(), k_rows);
  if (!compacting) {
    EXPECT_EQ(left.size(), k_rows);
  } else {
    EXPECT_NE(archive.rewritten, 0U);
    EXPECT_LT(left.size(), k_rows);
  }
  for (const ReturningClient& client : clients) {
    EXPECT_GT(client.visits, 5U);
    std::size_t at = 0;
    for (const jss::test::Row& row : archive.written) {
      const bool shown = client.version == v2 || (row.kind != 6 && row.kind != 7);
      if (at < client.seqs.size() && client.seqs[at] == row.seq) {
        EXPECT_TRUE(shown);
        ++at;
      } else if (at < client.seqs.size()) {
        // A row that compaction dropped may have been dropped before the client came to it.
        ASSERT_TRUE(!shown || !left.contains(row.seq)) << "lost: seq " << row.seq;
      }
    }
    EXPECT_EQ(at, client.seqs.size()) << "repeated or out of order: " << client.seqs[at];
  }
}

TEST(StreamLive, NothingIsLostOrRepeatedThroughRotationAndSealing) {
  follow_and_check(false, std::uint64_t{64} << 20);
}

TEST(StreamLive, NorThroughCompaction) { follow_and_check(true, std::uint64_t{64} << 20); }

// Nearly nothing is kept, so that clients change between the tail and the archive all the time.
TEST(StreamLive, NorBetweenTailAndArchive) { follow_and_check(true, 4000); }

TEST(StreamLive, AHundredSubscribersGetTheSame) {
  BusyArchive archive(1500);
  const auto service =
      StreamService::open(io::posix_file_system(), archive.path.string(), quick(1 << 20));
  ASSERT_TRUE(service) << service.error().text();
  std::vector<std::unique_ptr<FakeClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<FakeClient>(**service, v2, "", 1500));
  }
  archive.start(false);
  archive.join();
  std::string first;
  for (const auto& client : clients) {
    EXPECT_TRUE(client->socket.wait_for(1500));
    std::string all;
    std::uint64_t seq = 0;
    for (const auto& message : client->socket.sent()) {
      EXPECT_EQ(seq_of(message.data), ++seq);
      all += message.data;
    }
    first = first.empty() ? all : first;
    EXPECT_TRUE(all == first);
  }
}

// Who comes while a header is half written gets the stream all the same.
TEST(StreamLive, AHeaderThatIsBeingWrittenIsWaitedFor) {
  BusyArchive archive(0);
  const std::string path = archive.path.string();
  {
    auto writer = jss::Writer::open(io::posix_file_system(), path, small_blocks());
    ASSERT_TRUE(writer);
    jss::test::RowMaker maker(5);
    for (int i = 0; i < 20; ++i) {
      const jss::test::Row row = maker.next();
      ASSERT_TRUE((*writer)->append(row.event()));
    }
    ASSERT_TRUE((*writer)->sync());
  }
  const auto service = StreamService::open(io::posix_file_system(), path, quick(1 << 20));
  ASSERT_TRUE(service);
  const auto file = archive.path / "seg_0000000000.jss";
  const std::string whole = varve::test::read_file(file);
  varve::test::write_file(file, std::string(100, 'x') + whole.substr(100));
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    varve::test::write_file(file, whole);
  });
  FakeClient client(**service, v2, "cursor=1", 20);
  EXPECT_EQ(client.status, 101) << client.answer;
  EXPECT_TRUE(client.socket.wait_for(20));
}

// A torn last frame, which recovery cuts when the writer comes back.
TEST(StreamLive, AnUnfinishedFrameIsWaitedFor) {
  BusyArchive archive(0);
  const std::string path = archive.path.string();
  auto opened = jss::Writer::open(io::posix_file_system(), path, small_blocks());
  ASSERT_TRUE(opened);
  jss::test::RowMaker maker(5);
  const auto append = [&](jss::Writer& writer, int rows) {
    for (int i = 0; i < rows; ++i) {
      const jss::test::Row row = maker.next();
      ASSERT_TRUE(writer.append(row.event()));
    }
    ASSERT_TRUE(writer.sync());
  };
  append(**opened, 20);
  opened->reset();
  const auto file = archive.path / "seg_0000000000.jss";
  const std::string whole = varve::test::read_file(file);
  const auto service = StreamService::open(io::posix_file_system(), path, quick(1 << 20));
  ASSERT_TRUE(service);
  FakeClient client(**service, v2, "cursor=15");
  ASSERT_TRUE(client.socket.wait_for(6));
  varve::test::write_file(file, whole + whole.substr(256, 100));
  ASSERT_TRUE((*service)->tail().look_now());
  auto again = jss::Writer::open(io::posix_file_system(), path, small_blocks());
  ASSERT_TRUE(again);
  append(**again, 5);
  ASSERT_TRUE((*again)->seal());
  append(**again, 5);
  ASSERT_TRUE(client.socket.wait_for(16));
  std::uint64_t seq = 14;
  for (const auto& message : client.socket.sent()) {
    EXPECT_EQ(seq_of(message.data), ++seq);
  }
  EXPECT_EQ(client.socket.sent().size(), 16U);
}

}  // namespace
}  // namespace varve::serve
