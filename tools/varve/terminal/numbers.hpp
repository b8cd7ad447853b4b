// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace varve::terminal {

std::string grouped(std::uint64_t value);  // "12,293"
// "1.2 GB": powers of 1000, as disks are sold and rates are given.
std::string human_bytes(double bytes);
std::string human_seconds(double seconds);  // "0.01 s", "2 min 5 s"
// "1 record", "12,293 records"
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
std::string rfc3339(std::int64_t microseconds);

}  // namespace varve::terminal
