// SPDX-License-Identifier: MIT
// Words and their numbers.
#include "onnx/file/vocabulary.hpp"

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::onnx {

std::int64_t Vocabulary::code_of(std::string_view word) {
  if (const auto known = codes_.find(word); known != codes_.end()) return known->second;
  const auto code = static_cast<std::int64_t>(words_.size());
  codes_.emplace(words_.emplace_back(word), code);
  return code;
}

const std::string& Vocabulary::word_of(std::int64_t code) const {
  if (code < 0 || code >= static_cast<std::int64_t>(words_.size())) {
    core::throw_error<IndexError>("no word has the number ", code, "; there are ", words_.size(),
                                  ", each made by encode_text() or by the model");
  }
  return words_[static_cast<std::size_t>(code)];
}

}  // namespace tyto::onnx
