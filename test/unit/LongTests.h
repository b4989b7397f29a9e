// How much a test draws or tries: GANTRY_TEST_LONG=1 asks for more than every run of all tests can
// take.
#pragma once

#include <cstdlib>

namespace gantry::test {

inline bool areLong() { return std::getenv("GANTRY_TEST_LONG") != nullptr; }

template <typename T>
T shortOrLong(T usual, T ofLongTests) {
  return areLong() ? ofLongTests : usual;
}

} // namespace gantry::test
