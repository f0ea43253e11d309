// Memory of the host: blocks of arenas begin with small pages, and keep what they hold when they move to huge ones.
#include "devices/cpu/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tyto::cpu {

namespace {

constexpr std::size_t large = (std::size_t{9} << 20) + 12'345;  // not whole huge pages

std::vector<std::uint32_t> numbers() {
  std::vector<std::uint32_t> list(large / sizeof(std::uint32_t));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::uint32_t>(i * 2654435761u);
  return list;
}

bool holds(const void* memory, const std::vector<std::uint32_t>& list) {
  return std::memcmp(memory, list.data(), list.size() * sizeof(std::uint32_t)) == 0;
}

}  // namespace

TEST_CASE("an arena's memory keeps its contents when it moves to huge pages") {
  trim_memory();
  const std::vector<std::uint32_t> list = numbers();
  void* memory = allocate_arena_memory(large);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % memory_alignment == 0);
  std::memcpy(memory, list.data(), list.size() * sizeof(std::uint32_t));
  gather_pages(memory, large);
  CHECK(holds(memory, list));
  gather_pages(memory, large);  // a second time it does nothing
  CHECK(holds(memory, list));
  release_memory(memory, large);
}

TEST_CASE("an arena's memory is used again after it was freed, by arenas and by tensors") {
  trim_memory();
  const std::vector<std::uint32_t> list = numbers();
  const std::size_t before = allocated_memory();
  void* memory = allocate_arena_memory(large);
  release_memory(memory, large);
  CHECK(allocate_memory(large) == memory);
  std::memcpy(memory, list.data(), list.size() * sizeof(std::uint32_t));
  CHECK(holds(memory, list));
  release_memory(memory, large);
  CHECK(allocate_arena_memory(large) == memory);
  release_memory(memory, large);
  CHECK(allocated_memory() == before);
  trim_memory();
  memory = allocate_arena_memory(large);
  std::memset(memory, 1, large);
  gather_pages(memory, large);
  release_memory(memory, large);
}

}  // namespace tyto::cpu
