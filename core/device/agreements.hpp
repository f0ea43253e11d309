// SPDX-License-Identifier: MIT
// What processes that work together agree on beside what they do: a number, and whether they agreed on anything.
#pragma once

#include <cstdint>
#include <string_view>

namespace tyto::core {

/// How often this process has compared with others what it was about to do. While the number stays, none of them waits
/// for it.
std::uint64_t agreements();

/// The largest number that a process of the group of that number brings. All of them make this call, which `call`
/// names; where one makes another it is a GraphError.
std::int64_t largest_of_all(std::string_view call, std::int64_t number, std::int64_t group);

}  // namespace tyto::core
