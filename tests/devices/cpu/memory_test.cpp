// Memory of the host: large blocks lie where huge pages do, and freed ones are used again.
#include "devices/cpu/memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

namespace tyto::cpu {

TEST_CASE("a large block begins where a huge page does, and is used again after it was freed") {
  constexpr std::size_t large = (std::size_t{9} << 20) + 12'345;  // not whole huge pages
  trim_memory();
  const std::size_t before = allocated_memory();
  void* memory = allocate_memory(large);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % (std::size_t{2} << 20) == 0);
  CHECK(allocated_memory() >= before + large);
  std::memset(memory, 1, large);
  release_memory(memory, large);
  CHECK(allocate_memory(large) == memory);
  release_memory(memory, large);
  CHECK(allocated_memory() == before);
  trim_memory();
}

}  // namespace tyto::cpu
