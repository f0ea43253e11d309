// SPDX-License-Identifier: MIT
// The product of a matrix with its own transpose, of which half is computed.
#pragma once

#include <optional>
#include <vector>

#include "devices/cpu/products/matmul/matmul.hpp"

namespace tyto::cpu {

/// c = a b for an a that is the transpose of b in the same memory, so that c is symmetric: its lower triangle in blocks
/// of rows, which are then mirrored.
class GramMatmul {
 public:
  std::size_t workspace_bytes() const noexcept;
  void run(const MatmulArguments& arguments) const;

 private:
  friend std::optional<GramMatmul> prepare_gram_matmul(const MatmulProblem& problem, const KernelChoice& choice);

  MatmulProblem problem_;
  std::int64_t block_ = 0;        ///< rows of each block but the last
  std::vector<Matmul> products_;  ///< one a block: its rows by the columns up to its diagonal
  int threads_ = 1;
};

/// Nothing where b is laid out otherwise than as the transpose of a, or is too small to gain.
std::optional<GramMatmul> prepare_gram_matmul(const MatmulProblem& problem, const KernelChoice& choice = {});

}  // namespace tyto::cpu
