// Made-up inputs from a counter-based generator: no state, so element i needs no element before it.
#include "gantry/Formats/Values.h"

#include <charconv>
#include <cmath>
#include <numbers>

namespace gantry::arrays {

namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every
/// bit of the argument.
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// 53 bits in [0, 1).
double unitInterval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

uint64_t streamOf(uint64_t seed, std::string_view name) {
  uint64_t hash = mix(seed + 0x9e3779b97f4a7c15u);
  for (char c : name)
    hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

/// Value of element `i`; `random(k)` is the k-th independent draw for it.
template <typename Random>
double draw(const Fill &fill, uint64_t i, Random random) {
  switch (fill.kind) {
  case Fill::Kind::uniform:
    return fill.low + (fill.high - fill.low) * unitInterval(random(0));
  case Fill::Kind::randint:
    return fill.low + std::floor((fill.high - fill.low) * unitInterval(random(0)));
  case Fill::Kind::normal: // Box and Muller
    return std::sqrt(-2 * std::log(1 - unitInterval(random(0)))) *
           std::cos(2 * std::numbers::pi * unitInterval(random(1)));
  case Fill::Kind::zeros:
    return 0;
  case Fill::Kind::ones:
    return 1;
  case Fill::Kind::ramp:
    return static_cast<double>(i);
  }
  return 0;
}

std::string number(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

bool parseNumber(std::string_view text, double &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

constexpr std::pair<std::string_view, Fill::Kind> kinds[] = {
    {"uniform", Fill::Kind::uniform}, {"normal", Fill::Kind::normal},
    {"randint", Fill::Kind::randint}, {"zeros", Fill::Kind::zeros},
    {"ones", Fill::Kind::ones},       {"ramp", Fill::Kind::ramp}};

} // namespace

std::string Fill::text() const {
  std::string name;
  for (const auto &[known, value] : kinds)
    if (value == kind)
      name = known;
  const bool hasRange = kind == Kind::uniform || kind == Kind::randint;
  return hasRange ? name + "(" + number(low) + "," + number(high) + ")" : name;
}

Expected<Fill> parseFill(std::string_view text) {
  const auto unknown = [&] {
    return Status::invalidArgument("unknown fill '" + std::string(text) +
                                   "'; known are uniform:A:B, normal, randint:A:B, zeros, ones and "
                                   "ramp");
  };
  const size_t colon = text.find(':');
  Fill fill;
  bool known = false;
  for (const auto &[name, kind] : kinds)
    if (name == text.substr(0, colon)) {
      fill.kind = kind;
      known = true;
    }
  if (!known)
    return unknown();
  if (colon == std::string_view::npos) {
    if (fill.kind == Fill::Kind::randint)
      return unknown(); // a range of integers has no natural default
    return fill;
  }
  const std::string_view range = text.substr(colon + 1);
  const size_t middle = range.find(':');
  if (middle == std::string_view::npos || !parseNumber(range.substr(0, middle), fill.low) ||
      !parseNumber(range.substr(middle + 1), fill.high) ||
      (fill.kind != Fill::Kind::uniform && fill.kind != Fill::Kind::randint))
    return unknown();
  if (fill.low >= fill.high)
    return Status::invalidArgument("the fill '" + std::string(text) +
                                   "' has an empty range; expected the smaller bound first");
  return fill;
}

Fill defaultFill(ElementType element) {
  if (isFloat(element))
    return {};
  return {Fill::Kind::randint, 0, 2};
}

void fill(Array &array, const Fill &fill, uint64_t seed, std::string_view name) {
  const uint64_t stream = streamOf(seed, name);
  const uint64_t count = array.view().count();
  const size_t size = elementTypeSize(array.element);
  for (uint64_t i = 0; i < count; ++i) {
    const auto random = [&](uint64_t k) { return mix(stream + (2 * i + k) * 0x9e3779b97f4a7c15u); };
    storeFloat(array.element, array.bytes.data() + i * size, draw(fill, i, random));
  }
}

} // namespace gantry::arrays
