// Libraries of others that Gantry can use when they are there, and what it does without them.
#pragma once

#include <string>
#include <vector>

namespace gantry::machine {

struct LibraryReport {
  std::string name;
  std::string version; ///< empty when it was not found; "found" when it does not say
  std::string note;    ///< what it is for, or what is used in its place
};

/// Opens each library and asks its version; nothing is started.
std::vector<LibraryReport> findLibraries();

} // namespace gantry::machine
