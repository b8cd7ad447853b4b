// SPDX-License-Identifier: MIT OR Apache-2.0
// Records as JSON Lines: rendered on the threads that decoded them, written in order.
#pragma once

#include "output/byte_sink.hpp"
#include "varve/scan.hpp"
#include "varve/store.hpp"

namespace varve::output {

// Renders each batch into Batch::mapped. The columns stay: a limit that cuts the batch has it
// rendered once more.
class LineRenderer final : public BatchMapper {
 public:
  LineRenderer(const StoreView& view, Face face, RenderOptions options)
      : view_(view), face_(face), options_(std::move(options)) {}
  void map(Batch& batch) const override;

 private:
  const StoreView& view_;
  Face face_;
  RenderOptions options_;
};

// Writes the rendered text of batches. A batch that reaches it unrendered (a view need not map
// batches that it makes on the calling thread) is rendered here.
class LineSink final : public BatchSink {
 public:
  LineSink(const BatchMapper& renderer, ByteSink& out) : renderer_(renderer), out_(out) {}
  Result<bool> consume(Batch batch) override;

 private:
  const BatchMapper& renderer_;
  ByteSink& out_;
};

}  // namespace varve::output
