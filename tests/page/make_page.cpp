// SPDX-License-Identifier: MIT
// Writes the page of a graph of about 2,000 nodes with a profile, for the check in a real browser.
#include <fstream>
#include <iostream>
#include <string>
#include <tyto/tyto.hpp>

int main(int count, char** arguments) {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  if (count != 2) {
    std::cerr << "usage: make_page FILE.html\n";
    return 2;
  }
  const Tensor x = Tensor::placeholder({8, 16}, tyto::DType::f32, "</script><b>x</b>");
  const Tensor weight = Tensor::variable(Tensor::eye(16), "weight");
  Tensor y = x;
  for (int layer = 0; layer < 400; ++layer) y = tanh(matmul(y, weight) + 0.01f * static_cast<float>(layer)) + x;
  tyto::Graph graph{{.inputs = {x}, .outputs = {y}, .updates = {{weight, weight * 0.5f}}}};
  graph.set(x, Tensor::ones({8, 16}));
  graph.profile();
  std::ofstream(arguments[1]) << graph.html();
  return 0;
}
