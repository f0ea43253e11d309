// The version the library was built as.
#include <tyto/version.hpp>

namespace tyto {

const char* version() noexcept { return header_version; }

}  // namespace tyto
