// SPDX-License-Identifier: MIT
// Event files of TensorBoard: metrics of a run as protocol buffers in checked records, appended one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "tyto/nn/history.hpp"

namespace tyto {
namespace nn {

/// A new file of events in a folder, which is made where there is none; a run that goes on later begins another one,
/// and TensorBoard shows them as one. Throws IoError naming the file where it cannot be written.
class EventFile {
 public:
  explicit EventFile(const std::string& folder);
  /// The figures of a step, as of now.
  void add(std::int64_t step, const Figures& figures) const;

 private:
  void append(const std::string& event) const;

  std::string path_;
};

}  // namespace nn
}  // namespace tyto
