// SPDX-License-Identifier: MIT
// Chooses the samples of the batch at a position of a data set, and the position after it.
#pragma once

#include <vector>

#include "tyto/nn/batches.hpp"

namespace tyto::nn {

class BatchOrder {
 public:
  /// Throws ValueError for options that make no batches of so many samples.
  BatchOrder(std::int64_t samples, const BatchOptions& options);

  std::int64_t samples() const { return samples_; }
  std::int64_t batches_in(std::int64_t samples) const;
  /// This part's samples of the batch at a position, which is moved on by the batch; none where the epoch is over.
  std::vector<std::int64_t> take(BatchPosition& position);

 private:
  void arrange(std::int64_t epoch);

  BatchOptions options_;
  std::int64_t samples_;
  std::vector<std::int64_t> order_;
  std::int64_t order_of_epoch_ = -1;
};

}  // namespace tyto::nn
