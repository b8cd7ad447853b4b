// SPDX-License-Identifier: MIT OR Apache-2.0
// Asking the explorer as its page does: again, as long as it says that it is not ready.
#pragma once

#include <gtest/gtest.h>

#include <simdjson.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/explorer.hpp"
#include "store/open.hpp"
#include "tests/support.hpp"

namespace varve::test {

using Parameters = std::multimap<std::string, std::string>;

struct Told {
  int status = 0;
  std::string text;
  serve::HttpResponse response;
  // The document; its parser lives as long.
  std::shared_ptr<simdjson::dom::parser> parser = std::make_shared<simdjson::dom::parser>();
  simdjson::dom::element json;

  std::string at(std::string_view pointer) const {
    simdjson::dom::element found;
    if (json.at_pointer(pointer).get(found) != simdjson::SUCCESS) {
      return "(nothing)";
    }
    std::string_view text_value;
    return found.get(text_value) == simdjson::SUCCESS ? std::string(text_value)
                                                      : simdjson::minify(found);
  }
  std::size_t size(std::string_view pointer) const {
    simdjson::dom::array found;
    return json.at_pointer(pointer).get(found) == simdjson::SUCCESS ? found.size() : 0;
  }
  std::string header(const std::string& name) const {
    for (const auto& [key, value] : response.headers) {
      if (key == name) {
        return value;
      }
    }
    return {};
  }
};

inline Told ask_once(serve::Explorer& explorer, const std::string& path,
                     const Parameters& parameters = {}, const std::string& method = "GET") {
  serve::HttpRequest request;
  request.method = method;
  request.path = path;
  request.parameters = parameters;
  Told told;
  told.response = explorer.handle(request);
  told.status = told.response.status;
  for (const auto& part : told.response.body) {
    told.text += std::get<std::string>(part);
  }
  if (told.header("Content-Type") == "application/json") {
    EXPECT_EQ(told.parser->parse(told.text).get(told.json), simdjson::SUCCESS) << told.text;
  }
  return told;
}

inline Told ask(serve::Explorer& explorer, const std::string& path,
                const Parameters& parameters = {}) {
  while (true) {
    Told told = ask_once(explorer, path, parameters);
    if (told.status != 202 && told.status != 503) {
      return told;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// The store's last check, once it is over.
inline Told ask_checked(serve::Explorer& explorer, const std::string& id) {
  while (true) {
    Told told = ask(explorer, "/api/" + id + "/overview");
    if (told.at("/check/running") != "true" && told.at("/check/report") != "null") {
      return told;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// An explorer of one store, under the name "store"; null where nothing is recognised.
inline std::unique_ptr<serve::Explorer> explore(const std::string& path) {
  const auto located = store::locate(formats(), io::posix_file_system(), path);
  if (!located) {
    return nullptr;
  }
  return std::make_unique<serve::Explorer>(
      io::posix_file_system(),
      std::vector<serve::Explorer::Store>{{located->format, located->path}});
}

inline std::string only_id(serve::Explorer& explorer) {
  return ask(explorer, "/api/stores").at("/stores/0/id");
}

}  // namespace varve::test
