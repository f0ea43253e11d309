// SPDX-License-Identifier: MIT
// Checks that the thread sanitizer sees into OpenMP regions: it must report a race, and not the same work without one.
#include <cstdio>
#include <cstring>
#include <vector>

int main(int count, char** words) {
  const bool race = count == 2 && std::strcmp(words[1], "race") == 0;
  std::vector<int> numbers(1000, 1);
  int total = 0;
#pragma omp parallel for num_threads(4) reduction(+ : total)
  for (int i = 0; i < 1000; ++i) {
    if (race) ++numbers[0];
    total += race ? 1 : numbers[static_cast<std::size_t>(i)];
  }
  // A region begins after the one before has ended: nothing but the runtime says so.
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 1000; ++i) numbers[static_cast<std::size_t>(999 - i)] += total;
  std::printf("%d\n", numbers[999]);
  return 0;
}
