#include "Arguments.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Formats/Values.h"
#include "gantry/Support/Names.h"

#include <charconv>
#include <cmath>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::tool;

namespace {

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// "f32[4,8]=ramp"
Expected<arrays::Array> makeBuffer(const std::string &text, size_t open, size_t index) {
  std::string_view rest = text;
  auto element = elementTypeNamed(rest.substr(0, open));
  size_t close = rest.find(']', open);
  if (!element)
    return Status::invalidArgument("argument '" + printable(text) + "': the types are " +
                                   std::string(elementTypeList()));
  if (close == rest.npos)
    return Status::invalidArgument("argument '" + printable(text) + "': expected ']'");
  std::vector<int64_t> shape;
  std::string_view sizes = rest.substr(open + 1, close - open - 1);
  while (!sizes.empty()) {
    size_t comma = sizes.find(',');
    std::string_view one = sizes.substr(0, comma);
    int64_t value = 0;
    auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error != std::errc() || end != one.data() + one.size())
      return Status::invalidArgument("argument '" + printable(text) + "': '" + printable(one) +
                                     "' is no size");
    shape.push_back(value);
    sizes.remove_prefix(comma == sizes.npos ? sizes.size() : comma + 1);
  }
  auto made = arrays::Array::make(*element, shape);
  if (!made)
    return made.status();
  std::string_view tail = rest.substr(close + 1);
  arrays::Fill fill{arrays::Fill::Kind::zeros, 0, 0};
  if (!tail.empty()) {
    if (tail.front() != '=')
      return Status::invalidArgument("argument '" + printable(text) +
                                     "': expected '=' and a way to fill it");
    auto parsed = arrays::parseFill(tail.substr(1));
    if (!parsed)
      return parsed.status();
    fill = *parsed;
  }
  arrays::fill(*made, fill, 0, "arg" + std::to_string(index));
  return made;
}

/// A number into the bytes of a parameter, in the type that is given or the parameter's.
Status storeNumber(const std::string &text, const Parameter &parameter, std::byte *to) {
  std::string_view number = text;
  ElementType element;
  bool real = text.find_first_of(".eEnN") != text.npos && text.find('x') == text.npos;
  if (size_t colon = text.find(':'); colon != text.npos) {
    auto named = elementTypeNamed(number.substr(0, colon));
    if (!named || elementTypeSize(*named) != parameter.size)
      return Status::invalidArgument("argument '" + printable(text) + "': parameter '" +
                                     printable(parameter.name) + "' has " +
                                     std::to_string(parameter.size) + " bytes");
    element = *named;
    number.remove_prefix(colon + 1);
  } else {
    bool isReal = typeKind(parameter.type) == TypeKind::real || real;
    switch (parameter.size) {
    case 1:
      element = ElementType::i8;
      break;
    case 2:
      element = isReal ? ElementType::f16 : ElementType::i16;
      break;
    case 4:
      element = isReal ? ElementType::f32 : ElementType::i32;
      break;
    case 8:
      element = isReal ? ElementType::f64 : ElementType::i64;
      break;
    default:
      return Status::unsupported("parameter '" + printable(parameter.name) + "' of " +
                                 std::to_string(parameter.size) + " bytes is no number");
    }
  }
  uint8_t *bytes = reinterpret_cast<uint8_t *>(to);
  if (arrays::isFloat(element)) {
    char *end = nullptr;
    std::string copy(number);
    double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end)
      return Status::invalidArgument("argument '" + printable(text) + "' is no number");
    arrays::storeFloat(element, bytes, value);
    return {};
  }
  int64_t value = 0;
  uint64_t large = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) {
    auto [last, failure] = std::from_chars(number.data(), number.data() + number.size(), large);
    if (failure != std::errc() || last != number.data() + number.size())
      return Status::invalidArgument("argument '" + printable(text) +
                                     "' is no number and no file (.npy)");
    value = int64_t(large);
  }
  // As a signed or an unsigned number of the parameter's width.
  const unsigned bits = 8 * unsigned(parameter.size);
  if (bits < 64 && (value < -(int64_t(1) << (bits - 1)) || value >= int64_t(1) << bits || large))
    return Status::invalidArgument("argument '" + printable(text) + "' does not fit into the " +
                                   std::to_string(parameter.size) + " bytes of parameter '" +
                                   printable(parameter.name) + "'");
  arrays::storeInteger(element, bytes, value);
  return {};
}

} // namespace

Expected<std::vector<std::byte>>
gantry::ptx::tool::makeArguments(const KernelInfo &kernel, const std::vector<std::string> &texts,
                                 Memory &memory, std::vector<Argument> &arguments) {
  if (texts.size() != kernel.parameters.size())
    return Status::invalidArgument("kernel '" + printable(kernel.name) + "' takes " +
                                   std::to_string(kernel.parameters.size()) +
                                   " arguments (--arg), not " + std::to_string(texts.size()));
  std::vector<std::byte> bytes(kernel.parameterBytes);
  for (size_t i = 0; i < texts.size(); ++i) {
    const Parameter &parameter = kernel.parameters[i];
    Argument &argument = arguments.emplace_back();
    argument.text = texts[i];
    size_t open = texts[i].find('[');
    bool isFile = endsWith(texts[i], ".npy") || endsWith(texts[i], ".pb");
    if (!isFile && open == std::string::npos) {
      if (texts[i] == "null")
        continue;
      GANTRY_RETURN_IF_ERROR(storeNumber(texts[i], parameter, bytes.data() + parameter.offset));
      continue;
    }
    if (parameter.size != 8)
      return Status::invalidArgument("argument '" + printable(texts[i]) + "': parameter '" +
                                     printable(parameter.name) + "' is no pointer");
    if (isFile) {
      auto read = arrays::readArray(texts[i]);
      if (!read)
        return read.status();
      argument.buffer = std::move(read->array);
    } else {
      auto made = makeBuffer(texts[i], open, i);
      if (!made)
        return made.status();
      argument.buffer = made.take();
    }
    uint64_t address = reinterpret_cast<uint64_t>(argument.buffer->bytes.data());
    if (argument.buffer->bytes.size())
      GANTRY_RETURN_IF_ERROR(memory.add(argument.buffer->bytes.data(),
                                        argument.buffer->bytes.size(), "arg" + std::to_string(i)));
    auto span = argument.buffer->bytes.bytes();
    argument.before.assign(span.begin(), span.end());
    std::memcpy(bytes.data() + parameter.offset, &address, 8);
  }
  return bytes;
}
