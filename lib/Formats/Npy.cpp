// The .npy format: "\x93NUMPY", version, header length, a Python dict in ASCII, the elements.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "gantry/Formats/ArrayFiles.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace gantry::arrays {

namespace {

/// What a header says about the elements that follow it.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reader of the dict literal; it accepts the subset of Python that NumPy writes.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  std::optional<Header> parse() {
    Header header;
    bool haveDescr = false, haveOrder = false, haveShape = false;
    if (!eat('{'))
      return std::nullopt;
    while (!eat('}')) {
      auto key = string();
      if (!key || !eat(':'))
        return std::nullopt;
      bool understood = false;
      if (*key == "descr" && !haveDescr) {
        auto value = string();
        haveDescr = understood = value.has_value();
        header.descr = value.value_or("");
      } else if (*key == "fortran_order" && !haveOrder) {
        haveOrder = understood = boolean(header.fortranOrder);
      } else if (*key == "shape" && !haveShape) {
        haveShape = understood = tuple(header.shape);
      }
      if (!understood)
        return std::nullopt;
      if (!eat(',') && !peek('}'))
        return std::nullopt;
    }
    skipSpace();
    if (!text.empty() || !haveDescr || !haveOrder || !haveShape)
      return std::nullopt;
    return header;
  }

private:
  void skipSpace() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t'))
      text.remove_prefix(1);
  }
  bool peek(char c) {
    skipSpace();
    return !text.empty() && text[0] == c;
  }
  bool eat(char c) {
    if (!peek(c))
      return false;
    text.remove_prefix(1);
    return true;
  }
  bool eatWord(std::string_view word) {
    skipSpace();
    if (!text.starts_with(word))
      return false;
    text.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek('"') ? '"' : '\'';
    if (!eat(quote))
      return std::nullopt;
    const size_t end = text.find(quote);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(text.substr(0, end));
    text.remove_prefix(end + 1);
    return value;
  }
  bool boolean(bool &value) {
    value = eatWord("True");
    return value || eatWord("False");
  }
  bool tuple(std::vector<int64_t> &values) {
    if (!eat('('))
      return false;
    while (!eat(')')) {
      skipSpace();
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || values.size() == maxRank)
        return false;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      eatWord("L"); // Python 2 wrote long integers so
      values.push_back(value);
      if (!eat(',') && !peek(')'))
        return false;
    }
    return true;
  }

  std::string_view text;
};

struct DescrInfo {
  std::string_view descr; // without the byte order
  ElementType element;
};
constexpr DescrInfo descrs[] = {
    {"f4", ElementType::f32}, {"f8", ElementType::f64}, {"f2", ElementType::f16},
    {"i1", ElementType::i8},  {"u1", ElementType::u8},  {"i2", ElementType::i16},
    {"u2", ElementType::u16}, {"i4", ElementType::i32}, {"u4", ElementType::u32},
    {"i8", ElementType::i64}, {"u8", ElementType::u64}, {"b1", ElementType::i1},
    {"V2", ElementType::bf16}};

std::optional<ElementType> elementOfDescr(std::string_view descr) {
  if (descr.size() != 3 || !std::strchr("<>|=", descr[0]))
    return std::nullopt;
  for (const DescrInfo &info : descrs)
    if (info.descr == descr.substr(1))
      return info.element;
  return std::nullopt;
}

void swapBytes(uint8_t *data, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i)
    std::reverse(data + i * size, data + (i + 1) * size);
}

/// Copies elements from column-major to row-major order.
void copyFromFortran(const uint8_t *from, Array &to) {
  const size_t size = elementTypeSize(to.element), rank = to.shape.size();
  const uint64_t count = to.view().count();
  std::vector<int64_t> index(rank, 0);
  std::vector<uint64_t> stride(rank, 1);
  for (size_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * static_cast<uint64_t>(to.shape[d - 1]);
  uint64_t source = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(to.bytes.data() + i * size, from + source * size, size);
    for (size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < to.shape[d])
        break;
      source -= stride[d] * static_cast<uint64_t>(to.shape[d]);
      index[d] = 0;
    }
  }
}

Status corrupt(std::string_view file, std::string what) {
  return Status::corrupt("'" + std::string(file) + "' is not a readable .npy file: " + what);
}

/// Splits a file into its header's text and its elements.
Status splitFile(ByteSpan bytes, std::string_view file, std::string_view &header, ByteSpan &data) {
  const char *text = reinterpret_cast<const char *>(bytes.data());
  if (bytes.size() < 10 || std::memcmp(text, "\x93NUMPY", 6) != 0)
    return corrupt(file, "it does not begin with the magic string \\x93NUMPY");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3)
    return corrupt(file, "format version " + std::to_string(version) + ", known are 1 to 3");
  const size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix)
    return corrupt(file, "it ends within the header");
  uint32_t length = 0;
  std::memcpy(&length, text + 8, prefix - 8);
  if (length > bytes.size() - prefix)
    return corrupt(file, "its header has " + std::to_string(length) + " bytes, the file only " +
                             std::to_string(bytes.size() - prefix) + " more");
  header = {text + prefix, length};
  data = bytes.subspan(prefix + length);
  return {};
}

} // namespace

Expected<Array> parseNpy(ByteSpan bytes, std::string_view file) {
  std::string_view text;
  ByteSpan data;
  GANTRY_RETURN_IF_ERROR(splitFile(bytes, file, text, data));
  auto header = HeaderParser(text).parse();
  if (!header)
    return corrupt(file, "its header is not {'descr': …, 'fortran_order': …, 'shape': (…)}");
  auto element = elementOfDescr(header->descr);
  if (!element)
    return Status::unsupported("'" + std::string(file) + "' has the NumPy type '" + header->descr +
                               "'; known are b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8 and V2 "
                               "(bfloat16): convert it with x.astype(…)");
  // The bytes must be there before memory is asked for: a header may claim anything.
  auto count = elementCount(header->shape);
  const size_t size = elementTypeSize(*element);
  if (!count || *count > data.size() / size || *count * size != data.size())
    return corrupt(file, "an array " + tensorTypeName(*element, header->shape) + " needs " +
                             (count && *count < (uint64_t(1) << 60) ? std::to_string(*count * size)
                                                                    : "too many") +
                             " bytes, the file holds " + std::to_string(data.size()));
  auto array = Array::make(*element, std::move(header->shape));
  if (!array)
    return array.status();
  if (header->fortranOrder && array->shape.size() > 1)
    copyFromFortran(data.data(), *array);
  else if (!data.empty())
    std::memcpy(array->bytes.data(), data.data(), data.size());
  if (header->descr[0] == '>')
    swapBytes(array->bytes.data(), *count, size);
  normaliseBooleans(*array);
  return array;
}

std::string npyHeader(ElementType element, std::span<const int64_t> shape) {
  std::string_view descr = element == ElementType::bf16 ? "u2" : "";
  for (const DescrInfo &info : descrs)
    if (descr.empty() && info.element == element)
      descr = info.descr;
  std::string dict = "{'descr': '";
  dict += elementTypeSize(element) == 1 ? '|' : '<';
  dict += std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : shape)
    dict += std::to_string(dim) + ",";
  dict += "), }";
  // Elements begin at a multiple of 64 so that the file can be mapped and used.
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 255);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

} // namespace gantry::arrays
