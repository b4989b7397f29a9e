#include "ExpectCheck.h"
#include "Agreement.h"

#include "Console.h"

#include <cmath>

namespace gantry::tool {

using arrays::ArrayView;
using arrays::Difference;
using arrays::Tolerance;

namespace {

/// What came of comparing an output, and how far off it is.
struct Comparison {
  Difference difference;
  std::string text;
};

/// Element by element, as --rtol and --atol ask for.
Comparison compareEach(const Options &options, const ArrayView &actual, const ArrayView &expected) {
  const double rtol = options.rtol.value_or(1e-3), atol = options.atol.value_or(1e-6);
  const Difference difference = arrays::compare(actual, expected, rtol, atol);
  return {difference, format("max abs difference %.3g, max rel %.3g (rtol %g, atol %g)",
                             difference.maxAbsolute, difference.maxRelative, rtol, atol)};
}

Comparison compareByLargest(const ArrayView &actual, const ArrayView &expected,
                            const Tolerance &tolerance) {
  const Difference difference = arrays::compare(actual, expected, tolerance);
  std::string text = distanceText(difference, expected, tolerance);
  if (!difference.close() && std::isfinite(difference.maxAbsolute))
    text += " (more with --rtol and --atol)";
  return {difference, text};
}

/// One line; false when the output differs.
bool tell(const std::string &name, const GivenArray &reference, const ArrayView &actual,
          const Comparison &comparison) {
  const Difference &difference = comparison.difference;
  if (difference.close()) {
    printNote("output '" + name + "' against '" + reference.file + "': " + comparison.text +
              ": equal");
    return true;
  }
  const ArrayView expected = reference.array.view();
  printError(
      "output '" + name + "' differs from '" + reference.file +
      format("' in %llu of %llu elements: ", static_cast<unsigned long long>(difference.outside),
             static_cast<unsigned long long>(difference.count)) +
      comparison.text +
      format("; worst at %s: %.9g, expected %.9g",
             arrays::formatIndex(difference.worst, expected.shape).c_str(),
             arrays::valueAt(actual, difference.worst),
             arrays::valueAt(expected, difference.worst)));
  return false;
}

} // namespace

Expected<bool> checkExpected(const Options &options, Execution &execution,
                             const std::vector<std::optional<GivenArray>> &references) {
  const Tolerance tolerance = toleranceOf(execution);
  bool agree = true;
  for (unsigned i = 0; i < references.size(); ++i) {
    if (!references[i])
      continue;
    auto actual = execution.output(i);
    if (!actual)
      return actual.status();
    const runtime::BindingInfo &info = execution.function().outputs[i];
    const ArrayView expected = references[i]->array.view();
    if (references[i]->array.shape != info.type.shape ||
        arrays::isFloat(expected.element) != arrays::isFloat(actual->element)) {
      printError("output '" + info.name + "' is " + info.type.str() + ", but '" +
                 references[i]->file + "' holds " + references[i]->array.type());
      agree = false;
      continue;
    }
    agree &= tell(info.name, *references[i], *actual,
                  options.rtol || options.atol
                      ? compareEach(options, *actual, expected)
                      : compareByLargest(*actual, expected,
                                         tolerance.coarser(Tolerance::of(expected.element))));
  }
  return agree;
}

} // namespace gantry::tool
