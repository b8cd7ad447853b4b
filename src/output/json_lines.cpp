// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/json_lines.hpp"

namespace varve::output {

void LineRenderer::map(Batch& batch) const { view_.render(face_, batch, options_, batch.mapped); }

Result<bool> LineSink::consume(Batch batch) {
  if (batch.mapped.empty() && batch.rows > 0) {
    renderer_.map(batch);
  }
  return out_.write(batch.mapped);
}

}  // namespace varve::output
