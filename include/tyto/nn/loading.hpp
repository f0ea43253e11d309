// SPDX-License-Identifier: MIT
// Weights by name: a model's states from a file and into one, PyTorch's names and layouts included.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tyto/nn/module.hpp"

namespace tyto {
namespace nn TYTO_API {

/// The order of axes of weights in a file: that of Tyto's layers, or PyTorch's: (out, in) and OIHW.
enum class WeightLayout : std::uint8_t { tyto, pytorch };

/// Options of `load`.
struct LoadOptions {
  /// The model's name for a name of the file; an empty one passes the tensor over. Left out, names are equal.
  std::function<std::string(const std::string& name)> rename = {};
  /// Left out, PyTorch's in PyTorch's own files and Tyto's in the others; IoError where another program than Tyto wrote
  /// one of the others, and all weights have shapes that fit in both.
  std::optional<WeightLayout> layout = {};
  /// Whether a state that the file lacks, or a tensor that the model lacks, is an error.
  bool strict = true;
};

/// Names of states that were loaded, of states that the file lacks, and of the file's tensors that found no state.
struct LoadReport {
  std::vector<std::string> loaded;     ///< names of states that the file had
  std::vector<std::string> missing;    ///< names of states that the file lacks
  std::vector<std::string> left_over;  ///< names in the file that the model lacks
};

/// Gives the states of a model the values that a file has under their names: .safetensors, .npz, or what torch.save
/// wrote of a state_dict (.pt, .pth, .bin). Floating-point types are cast. Throws IoError, and changes nothing, when a
/// shape or type does not fit, or, `strict`, when names do not.
///
///     nn::load(model, "resnet18.safetensors", {.layout = nn::WeightLayout::pytorch});
///     nn::load(model, "resnet18.pt");
LoadReport load(const Module& model, const std::string& path, const LoadOptions& options = {});

/// Writes all states of a model under their names, in Tyto's layout, as .safetensors or .npz by the path's ending.
void save(const Module& model, const std::string& path);

}  // namespace TYTO_API
}  // namespace tyto
