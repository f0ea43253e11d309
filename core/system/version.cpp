// SPDX-License-Identifier: MIT
// The version that the library was built as.
#include <tyto/version.hpp>

namespace tyto TYTO_API {

const char* version() noexcept { return header_version; }

}  // namespace TYTO_API
