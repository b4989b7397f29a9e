// Integer inputs that decide shapes, given with --input: they are compile-time values (spec G2).
#pragma once

#include "Execution.h"

#include <vector>

namespace gantry::tool {

/// What keeps the values readable for the compiler; to be alive until it has compiled.
class HeldValues {
public:
  HeldValues() = default;
  HeldValues(HeldValues &&) = default;
  HeldValues &operator=(HeldValues &&) = default;
  ~HeldValues();
  /// A path under which this process can read the array as .npy.
  Expected<std::string> hold(const arrays::Array &array);

private:
  std::vector<int> descriptors;
};

/// When FILE is a graph and integers are given, asks the compiler which inputs decide shapes; those
/// leave `inputs` and become --value flags, and a line on standard error says so.
Expected<HeldValues> takeShapeInputs(Options &options, GivenArrays &inputs);

/// The strings of the list behind `key` in a JSON text; empty when there is no such list.
std::vector<std::string> stringsOfJson(std::string_view json, std::string_view key);

} // namespace gantry::tool
