// SPDX-License-Identifier: MIT OR Apache-2.0
// Each line with "wrong:" must be an error of the compiler, and no other line may be one. The
// comment says what would go wrong if it compiled.
#include <span>
#include <string>
#include <utility>

#include "varve/arena.hpp"
#include "varve/jss.hpp"
#include "varve/kladde_store.hpp"
#include "varve/store.hpp"
#include "varve/tay.hpp"

namespace varve {

void a_result_is_no_value() {
  std::unique_ptr<StoreView> store = open_store("x");  // wrong: the error would be dropped
  const Result<int> number = 3;
  const int taken = number;  // wrong: it must be looked at first
  static_cast<void>(taken);
}

void a_writer_has_one_owner(kladde::Store& heap, jss::Writer& writer, tay::JobStore& queue) {
  kladde::Store second = heap;     // wrong: two writers on one file
  jss::Writer third = writer;      // wrong: the same
  tay::JobStore fourth = queue;    // wrong: the same
  arena::Journal made_of_nothing;  // wrong: a journal is opened, with recovery
}

void a_transaction_is_moved_not_copied(kladde::Transaction& change) {
  kladde::Transaction copy = change;  // wrong: it would be committed twice
  kladde::Transaction moved = std::move(change);
}

void bytes_are_no_text(arena::Journal& journal, kladde::Transaction& change) {
  const std::string text = "text";
  static_cast<void>(journal.append(text));  // wrong: std::as_bytes says that it is meant
  change.write(1, 0, text);                 // wrong: the same
}

void kinds_are_no_numbers(tay::JobStore& queue, tay::JobId id, ScanRequest& request) {
  static_cast<void>(queue.finish(id, 1, 0));  // wrong: 0 is no outcome
  request.face = 1;                           // wrong: nor a face
  const Number number = 42;                   // wrong: a number says how it is shown
  static_cast<void>(number);
}

void a_batch_is_not_written_to(const Batch& batch) {
  *batch.columns[0].data = 'x';  // wrong: others hold the same memory
  batch.rows = 0;                // wrong: the same
}

class ForgetsToAnswer final : public BatchSink {
 public:
  void consume(Batch) override {}  // wrong: a sink says whether it wants more
};

}  // namespace varve
