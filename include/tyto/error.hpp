// SPDX-License-Identifier: MIT
// The exceptions Tyto throws: one tree, each naming what was wrong and what would have been right.
#pragma once

#include <stdexcept>
#include <string>

#if defined(_WIN32)
#define TYTO_API
#else
#define TYTO_API __attribute__((visibility("default")))
#endif

namespace tyto TYTO_API {

namespace core {
class PlacedError;
}

/// Base of everything Tyto throws; catch this to catch all of it.
class TYTO_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

 private:
  friend core::PlacedError;
  bool names_place_ = false;  // the message says in which layer, or of which file
};

/// Shapes that do not fit together.
class TYTO_API ShapeError : public Error {
 public:
  using Error::Error;
};

/// An element type that an operator, or a read, does not accept.
class TYTO_API TypeError : public Error {
 public:
  using Error::Error;
};

/// An index, axis or range outside its bounds.
class TYTO_API IndexError : public Error {
 public:
  using Error::Error;
};

/// A value outside what a function is defined for (a negative count, a probability above one).
class TYTO_API ValueError : public Error {
 public:
  using Error::Error;
};

/// A device that is missing, full, or lacks what was asked of it.
class TYTO_API DeviceError : public Error {
 public:
  using Error::Error;
};

/// A graph used against its rules: an unassigned input, an update of something that is no state.
class TYTO_API GraphError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be read or written, or whose contents are invalid.
class TYTO_API IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace TYTO_API
