// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/view.hpp"

#include <utility>

#include "jss/log_schema.hpp"
#include "jss/state.hpp"

namespace varve::jss {

View::View(std::unique_ptr<Archive> archive, OpenOptions options)
    : archive_(std::move(archive)), options_(std::move(options)) {}

const Schema& View::schema(Face face) const {
  return face == Face::state ? state_schema() : log_schema();
}

}  // namespace varve::jss
