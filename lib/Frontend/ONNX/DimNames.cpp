// Sums of names, read from left to right; see DimNames.h.

#include "DimNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace gantry;
using namespace gantry::onnx;
using llvm::StringRef;

std::string gantry::onnx::placeOf(const ValueInfo &input, size_t axis) {
  return std::string(input.name) + ":" + std::to_string(axis);
}

std::string gantry::onnx::dimKey(const ValueInfo &input, size_t axis) {
  std::string_view param = input.type.dims[axis].param;
  return param.empty() ? placeOf(input, axis) : std::string(param);
}

namespace {
using SizeOf = llvm::function_ref<std::optional<int64_t>(StringRef)>;

/// sum = product {("+" | "-") product}, product = factor {"*" factor},
/// factor = number | name | "(" sum ")"
class DimReader {
public:
  DimReader(StringRef text, SizeOf sizeOf) : rest(text), sizeOf(sizeOf) {}

  std::optional<int64_t> read() {
    std::optional<int64_t> value = readSum();
    return rest.ltrim().empty() ? value : std::nullopt;
  }

private:
  using Number = std::optional<int64_t>;

  bool take(char wanted) {
    rest = rest.ltrim();
    return rest.consume_front(StringRef(&wanted, 1));
  }

  Number readSum() {
    Number sum = readProduct();
    while (sum) {
      bool adds = take('+');
      if (!adds && !take('-'))
        return sum;
      Number next = readProduct();
      int64_t result;
      bool overflows = !next || (adds ? llvm::AddOverflow(*sum, *next, result)
                                      : llvm::SubOverflow(*sum, *next, result));
      sum = overflows ? Number() : result;
    }
    return sum;
  }

  Number readProduct() {
    Number product = readFactor();
    while (product && take('*')) {
      Number next = readFactor();
      int64_t result;
      product = next && !llvm::MulOverflow(*product, *next, result) ? Number(result) : Number();
    }
    return product;
  }

  Number readFactor() {
    if (take('(')) {
      if (++depth > kMaxDepth)
        return std::nullopt;
      Number inner = readSum();
      --depth;
      return take(')') ? inner : std::nullopt;
    }
    StringRef word =
        rest.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.ltrim().drop_front(word.size());
    int64_t number;
    if (word.empty())
      return std::nullopt;
    if (!llvm::isDigit(word.front()))
      return sizeOf(word);
    return word.getAsInteger(10, number) ? Number() : number;
  }

  static constexpr int kMaxDepth = 32;
  StringRef rest;
  SizeOf sizeOf;
  int depth = 0;
};
} // namespace

std::optional<int64_t> gantry::onnx::computeDim(StringRef text, SizeOf sizeOf) {
  std::optional<int64_t> size = DimReader(text, sizeOf).read();
  return size && *size >= 0 ? size : std::nullopt;
}

llvm::SmallVector<std::string> gantry::onnx::namesIn(StringRef text) {
  llvm::SmallVector<std::string> names;
  // With every size 1 whatever is written well has a value.
  bool isSum = DimReader(text,
                         [&](StringRef name) -> std::optional<int64_t> {
                           if (!llvm::is_contained(names, name))
                             names.push_back(name.str());
                           return 1;
                         })
                   .read()
                   .has_value();
  bool isName = names.size() == 1 && StringRef(names.front()) == text.trim();
  return isSum && !isName ? names : llvm::SmallVector<std::string>();
}

DimNames::DimNames(const Model &model) {
  for (const ValueInfo &input : model.graph.inputs)
    for (const Dim &dim : input.type.dims)
      if (!dim.isKnown() && !dim.param.empty())
        alone.insert(dim.param);
}

llvm::SmallVector<std::string> DimNames::toGive(const std::string &key,
                                                const llvm::StringMap<int64_t> &given) const {
  llvm::SmallVector<std::string> names = namesIn(key);
  if (!llvm::all_of(names, [&](StringRef name) { return alone.contains(name); }))
    return {key};
  llvm::erase_if(names, [&](StringRef name) { return given.contains(name); });
  return names.empty() ? llvm::SmallVector<std::string>{key} : names;
}
