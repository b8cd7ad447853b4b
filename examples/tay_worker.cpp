// SPDX-License-Identifier: MIT OR Apache-2.0
// A worker over a Tay job store that may be killed at any moment:
//
//   example_tay_worker DIRECTORY JOBS
//
// Makes the store if there is none, inserts JOBS jobs (once, however often it is started), runs
// them, and ends when each is completed. A line "finished N" means that the end of job N is
// durable. Kill it with SIGKILL and start it again: jobs that ran are made ready again, nothing
// that was told finished runs again.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "varve/tay.hpp"

namespace {

using namespace varve;

int complain(const Error& error) {
  std::fprintf(stderr, "example_tay_worker: %s\n", error.text().c_str());
  return exit_code(error);
}

// The same number always gives the same id, so that inserting it again changes nothing.
tay::JobId id_of(unsigned long number) {
  tay::JobId id{};
  for (std::size_t i = 0; i < 8; ++i) {
    id[15 - i] = static_cast<std::byte>(number >> (8 * i));
  }
  return id;
}

unsigned long number_of(const tay::JobId& id) {
  unsigned long number = 0;
  for (std::size_t i = 8; i < 16; ++i) {
    number = number << 8 | std::to_integer<unsigned long>(id[i]);
  }
  return number;
}

Result<std::unique_ptr<tay::JobStore>> open_or_create(const std::string& directory) {
  io::FileSystem& files = io::posix_file_system();
  auto store = tay::JobStore::open(files, directory);
  const bool unborn = !store && (store.error().reason == "existing_root_or_lock_missing" ||
                                 store.error().reason == "missing_store_marker");
  if (!unborn) {
    return store;
  }
  // Nothing there, or a creation that was killed half-way; anything else it refuses.
  return tay::JobStore::create(files, directory, {}, true);
}

Result<void> insert_all(tay::JobStore& store, unsigned long jobs) {
  for (unsigned long number = 1; number <= jobs; ++number) {
    tay::JobDefinition definition;
    definition.worker_key = "example.square";
    definition.args_json = "{\"number\":" + std::to_string(number) + "}";
    auto inserted = store.insert(id_of(number), definition);
    if (!inserted) {
      return std::unexpected(inserted.error());
    }
  }
  return {};
}

// Runs what is ready; true when every job has ended.
Result<bool> run_ready(tay::JobStore& store) {
  for (;;) {
    auto job = store.start_next("default");
    if (!job) {
      return std::unexpected(job.error());
    }
    if (!*job) {
      break;
    }
    // Here a real worker would look at definition.args_json and do its work. What it does must bear
    // being done twice: after a kill nobody can know how far it came.
    auto done = store.finish((*job)->id, *(*job)->execution, tay::Outcome::success);
    if (!done) {
      return std::unexpected(done.error());
    }
    std::printf("finished %lu\n", number_of((*job)->id));
    std::fflush(stdout);
  }
  auto due = store.next_due_ms();
  if (!due) {
    return std::unexpected(due.error());
  }
  return !due->has_value();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: example_tay_worker DIRECTORY JOBS\n");
    return 64;
  }
  auto store = open_or_create(argv[1]);
  if (!store) {
    return complain(store.error());
  }
  if ((*store)->settled() != 0) {
    std::fprintf(stderr, "%llu jobs had been interrupted\n",
                 static_cast<unsigned long long>((*store)->settled()));
  }
  if (auto inserted = insert_all(**store, std::strtoul(argv[2], nullptr, 10)); !inserted) {
    return complain(inserted.error());
  }
  for (;;) {
    auto idle = run_ready(**store);
    if (!idle) {
      return complain(idle.error());
    }
    if (*idle) {
      return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until a retry is due
  }
}
