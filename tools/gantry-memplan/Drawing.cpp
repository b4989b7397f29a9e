// A plan as SVG: a rectangle a buffer, in colours that tell neighbours apart, with its id and size
// for the pointer.
#include "Buffers.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <cstdio>

using namespace gantry;
using namespace gantry::memplan;

namespace {

std::string escaped(std::string_view text) {
  std::string made;
  for (char c : text)
    made += c == '<'                             ? "&lt;"
            : c == '>'                           ? "&gt;"
            : c == '&'                           ? "&amp;"
            : static_cast<unsigned char>(c) < 32 ? " "
                                                 : std::string(1, c);
  return made;
}

template <class... Arguments>
std::string format(const char *text, Arguments... arguments) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, text, arguments...);
  return buffer;
}

} // namespace

std::string gantry::memplan::drawPlan(const BufferList &list, const packing::Solution &solution,
                                      uint64_t capacity) {
  constexpr double width = 1000, height = 600;
  uint32_t begin = UINT32_MAX, end = 0;
  for (const packing::Buffer &buffer : list.problem.buffers) {
    begin = std::min(begin, buffer.first);
    end = std::max(end, buffer.last);
  }
  const double bytes = static_cast<double>(std::max<uint64_t>({solution.peak, capacity, 1}));
  const double steps = begin < end ? end - begin : 1;
  auto x = [&](double step) { return (step - begin) * width / steps; };
  auto y = [&](double offset) { return height - offset * height / bytes; };
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 600\" "
                     "font-family=\"sans-serif\">\n<rect width=\"1000\" height=\"600\" "
                     "fill=\"#f4f4f4\"/>\n";
  for (size_t i = 0; i < list.ids.size(); ++i) {
    const packing::Buffer &buffer = list.problem.buffers[i];
    if (buffer.size == 0 || buffer.first == buffer.last)
      continue;
    const double top = y(static_cast<double>(solution.offsets[i] + buffer.size));
    text += format("<rect x=\"%.3f\" y=\"%.3f\" width=\"%.3f\" height=\"%.3f\" "
                   "fill=\"hsl(%zu,55%%,%d%%)\" stroke=\"#fff\" stroke-width=\".3\"><title>",
                   x(buffer.first), top, (buffer.last - buffer.first) * width / steps,
                   y(static_cast<double>(solution.offsets[i])) - top, i * 137 % 360,
                   buffer.fixedOffset ? 35 : 60);
    text += escaped(list.ids[i]) + ": " + formatBytes(buffer.size) + " at " +
            std::to_string(solution.offsets[i]) + ", steps " + std::to_string(buffer.first) +
            " to " + std::to_string(buffer.last) + (buffer.fixedOffset ? ", fixed" : "") +
            "</title></rect>\n";
  }
  for (auto [bytesAt, colour] : {std::pair(solution.lowerBound, "#080"), {capacity, "#c00"}})
    if (bytesAt != 0)
      text += format("<line x2=\"1000\" y1=\"%.3f\" y2=\"%.3f\" stroke=\"%s\"/>\n",
                     y(static_cast<double>(bytesAt)), y(static_cast<double>(bytesAt)), colour);
  return text + "</svg>\n";
}
