// SPDX-License-Identifier: MIT
// Succeeds if a graph of the packaged library gives the right number.
#include <cstdio>
#include <tyto/tyto.hpp>

int main() {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const auto total = sum(square(Tensor{{1.0f, 2.0f}, {3.0f, 4.0f}})).item<float>();
  std::printf("tyto %s: %g\n", tyto::version(), static_cast<double>(total));
  return total == 30 ? 0 : 1;
}
