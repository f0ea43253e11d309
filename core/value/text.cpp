// Parts of a message, printed one after the other.
#include "core/value/text.hpp"

#include <sstream>

namespace tyto::core {

std::string joined(std::initializer_list<Printable> parts) {
  std::ostringstream out;
  for (const Printable& part : parts) out << part;
  return out.str();
}

}  // namespace tyto::core
