// SPDX-License-Identifier: MIT
// Writes the batches that examples/resnet trains with to the standard output, for a twin of it in another system:
// resnet_torch.py reads them.
//
//   resnet_batches DATA BATCH EPOCHS SEED PADDING
//
// Each batch is its pictures, (BATCH, 32, 32, 3) numbers of f32, and then its labels, BATCH bytes.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/resnet/pictures.hpp"

namespace {

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Eager>;

void write_all(const Tensor& x) {
  const auto bytes = x.bytes();
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) throw tyto::IoError("nobody reads on");
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: resnet_batches DATA BATCH EPOCHS SEED PADDING; resnet_torch.py calls it\n");
    return 2;
  }
  try {
    const PictureSets pictures = read_cifar_folder(words[1]);
    nn::Batches<Tensor> batches(
        varied(pictures.training, std::atoll(words[5])),
        {.size = std::atoll(words[2]), .drop_last = true, .seed = std::strtoull(words[4], nullptr, 10), .ahead = 2});
    for (long long epoch = std::atoll(words[3]); epoch > 0; --epoch) {
      for (const auto& [images, labels] : batches) {
        write_all(images);
        write_all(labels.astype(tyto::DType::u8));
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resnet_batches: %s\n", error.what());
    return 1;
  }
}
