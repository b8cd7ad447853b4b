// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_frames.hpp"

#include <algorithm>

#include "base/json_writer.hpp"
#include "jss/block_builder.hpp"
#include "jss/render_streams.hpp"

namespace varve::serve {

void FrameMaker::compress(StreamForm form, StreamFrame& out) {
  out.text_bytes = out.data.size();
  if (form.dictionary >= 0) {
    compressed_.clear();
    encoder_.encode(base::as_bytes(out.data),
                    dictionaries_.at(static_cast<std::size_t>(form.dictionary)), compressed_);
    out.data = base::as_text(compressed_);
  }
}

void FrameMaker::wrap(std::string_view text, StreamForm form, StreamFrame& out) {
  out.data = text;
  compress(form, out);
}

void FrameMaker::make(const jss::Event& event, StreamForm form, StreamFrame& out) {
  out.data.clear();
  if (form.version == StreamVersion::v2) {
    jss::append_stream_v2(out.data, event);
  } else if (!jss::append_stream_v1(out.data, event)) {
    return;
  }
  compress(form, out);
}

std::string stream_error_text(std::string_view error, std::string_view message) {
  std::string out = R"({"$type":"error","error":)";
  base::append_json_text_or_bytes(out, error);
  out += ",\"message\":";
  base::append_json_text_or_bytes(out, message);
  return out + '}';
}

std::string stream_info_text(std::string_view name, std::string_view message) {
  std::string out =
      R"({"$type":"message","payload":{"$type":"network.bsky.jetstream.subscribeEvents#info",)"
      R"("name":)";
  base::append_json_text_or_bytes(out, name);
  out += ",\"message\":";
  base::append_json_text_or_bytes(out, message);
  return out + "}}";
}

LiveBlock::Lane& LiveBlock::lane(StreamForm form) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->form == form; });
  if (found != lanes_.end()) {
    return **found;
  }
  auto made = std::make_unique<Lane>();
  made->form = form;
  made->frames.resize(block.columns.rows);
  made->made.resize(block.columns.rows);
  lanes_.push_back(std::move(made));
  return *lanes_.back();
}

const StreamFrame& LiveBlock::frame(std::size_t row, StreamForm form, FrameMaker& maker) {
  Lane& mine = lane(form);
  const std::lock_guard lock(mine.mutex);
  StreamFrame& out = mine.frames[row];
  if (!mine.made[row]) {
    maker.make(jss::event_at(block.columns, row), form, out);
    mine.made[row] = true;
    frame_bytes_ += out.data.size();
  }
  return out;
}

}  // namespace varve::serve
