// SPDX-License-Identifier: MIT
// Calls a function from many threads at the same time.
#pragma once

#include <barrier>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace tyto_test {

constexpr int clients = 8, calls_each = 50;

/// Runs work(0) to work(count - 1), each on a thread of its own; says which of them gave false or threw what.
template <class F>
std::string by_clients(F work, int count = clients) {
  std::vector<std::string> faults(static_cast<std::size_t>(count));
  std::barrier together(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      try {
        if (!work(i)) faults[static_cast<std::size_t>(i)] = "wrong numbers; ";
      } catch (const std::exception& error) {
        faults[static_cast<std::size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& fault : faults) all += fault;
  return all;
}

}  // namespace tyto_test
