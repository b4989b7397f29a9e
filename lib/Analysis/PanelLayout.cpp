#include "gantry/Analysis/PanelLayout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <vector>

using namespace mlir;
using namespace gantry;

using Loop = PanelLayout::Loop;
using Loops = PanelLayout::Loops;

int64_t PanelLayout::count(ArrayRef<Loop> loops) {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.size;
  return count;
}

//===----------------------------------------------------------------------===//
// As an attribute
//===----------------------------------------------------------------------===//

/// Size and step of each loop in turn.
static Attribute attrOf(Builder &b, ArrayRef<Loop> loops) {
  SmallVector<int64_t> numbers;
  for (const Loop &loop : loops)
    numbers.append({loop.size, loop.step});
  return b.getDenseI64ArrayAttr(numbers);
}

static std::optional<Loops> loopsOf(DictionaryAttr attr, StringRef name) {
  auto numbers = attr.getAs<DenseI64ArrayAttr>(name);
  if (!numbers || numbers.size() % 2 != 0)
    return std::nullopt;
  Loops loops;
  for (int64_t i = 0; i < numbers.size(); i += 2)
    loops.push_back({numbers[i], numbers[i + 1]});
  return loops;
}

DictionaryAttr PanelLayout::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> entries{b.getNamedAttr("matrices", attrOf(b, matrices)),
                                      b.getNamedAttr("rows", attrOf(b, rows)),
                                      b.getNamedAttr("columns", attrOf(b, columns)),
                                      b.getNamedAttr("width", b.getI64IntegerAttr(width))};
  if (packingFactor != 1)
    entries.push_back(b.getNamedAttr("group", b.getI64IntegerAttr(packingFactor)));
  return b.getDictionaryAttr(entries);
}

std::optional<PanelLayout> PanelLayout::of(Attribute attr) {
  auto dictionary = dyn_cast_if_present<DictionaryAttr>(attr);
  if (!dictionary)
    return std::nullopt;
  auto matrices = loopsOf(dictionary, "matrices"), rows = loopsOf(dictionary, "rows"),
       columns = loopsOf(dictionary, "columns");
  auto width = dictionary.getAs<IntegerAttr>("width");
  auto packingFactor = dictionary.getAs<IntegerAttr>("group");
  if (!matrices || !rows || !columns || !width || width.getInt() < 1 ||
      (packingFactor && packingFactor.getInt() < 1))
    return std::nullopt;
  return PanelLayout{*matrices, *rows, *columns, width.getInt(),
                     packingFactor ? packingFactor.getInt() : 1};
}

std::optional<PanelLayout> PanelLayout::ofArgument(Operation *kernel, unsigned argument) {
  auto layouts = kernel->getAttrOfType<ArrayAttr>(kLayoutsAttr);
  return layouts && argument < layouts.size() ? of(layouts[argument]) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Where element `index` of the loops lies in the plain tensor.
static int64_t offsetOf(ArrayRef<Loop> loops, int64_t index) {
  int64_t offset = 0;
  for (const Loop &loop : llvm::reverse(loops)) {
    offset += index % loop.size * loop.step;
    index /= loop.size;
  }
  return offset;
}

static std::vector<int64_t> offsetsOf(ArrayRef<Loop> loops) {
  std::vector<int64_t> offsets(PanelLayout::count(loops));
  for (auto [i, offset] : llvm::enumerate(offsets))
    offset = offsetOf(loops, i);
  return offsets;
}

namespace {
/// Elements of so many bytes, which need not be aligned where they come from.
template <typename Element>
struct Packer {
  const uint8_t *plain;
  std::vector<int64_t> rows, columns;
  int64_t width, packingFactor;

  Element at(int64_t offset) const {
    Element element;
    std::memcpy(&element, plain + offset * int64_t(sizeof element), sizeof element);
    return element;
  }

  /// Rows [from, to) of the panel at column `first` of a matrix; `from` begins a group.
  void packRows(int64_t matrix, int64_t first, int64_t from, int64_t to, Element *out) const {
    if (packingFactor != 1)
      return packGroups(matrix, first, from, to, out);
    // Where rows lie side by side, some at a time: columns may be a multiple of 4 KiB apart, and
    // then a cache does not hold a line of each until the next row.
    constexpr int64_t side = 16;
    for (int64_t row = from; row < to; row += side, out += side * width)
      packSome(matrix, first, row, std::min(row + side, to), out);
  }

  void packGroups(int64_t matrix, int64_t first, int64_t from, int64_t to, Element *out) const {
    // Groups that share a line of the plain tensor where rows lie side by side, as above.
    const int64_t side = llvm::alignTo(16, packingFactor);
    const int64_t all = rows.size(), live = std::min<int64_t>(width, columns.size() - first);
    for (int64_t block = from; block < to; block += side)
      for (int64_t column = 0; column < width; ++column)
        for (int64_t row = block; row < std::min(block + side, to); ++row) {
          const bool isLive = row < all && column < live;
          const int64_t place = (row - from) / packingFactor * packingFactor * width +
                                column * packingFactor + row % packingFactor;
          out[place] = isLive ? at(matrix + rows[row] + columns[first + column]) : Element(0);
        }
  }

  void packSome(int64_t matrix, int64_t first, int64_t from, int64_t to, Element *out) const {
    int64_t live = std::min<int64_t>(width, int64_t(columns.size()) - first);
    if (isLine(first, live)) {
      for (int64_t row = from; row < to; ++row)
        std::memcpy(out + (row - from) * width,
                    plain + (matrix + rows[row] + columns[first]) * int64_t(sizeof(Element)),
                    live * sizeof(Element));
    } else {
      for (int64_t column = 0; column < live; ++column)
        for (int64_t row = from; row < to; ++row)
          out[(row - from) * width + column] = at(matrix + rows[row] + columns[first + column]);
    }
    for (int64_t row = from; row < to; ++row)
      std::fill(out + (row - from) * width + live, out + (row - from + 1) * width, Element(0));
  }

  bool isLine(int64_t first, int64_t count) const {
    for (int64_t column = 1; column < count; ++column)
      if (columns[first + column] != columns[first] + column)
        return false;
    return true;
  }
};
} // namespace

template <typename Element>
static Status packAs(const PanelLayout &layout, std::span<const uint8_t> plain,
                     const PanelLayout::Sink &sink) {
  constexpr int64_t kPieceBytes = 128 << 10;
  Packer<Element> packer{plain.data(), offsetsOf(layout.rows), offsetsOf(layout.columns),
                         layout.width, layout.packingFactor};
  int64_t rows = layout.panelRows(), columns = packer.columns.size();
  int64_t rowBytes = layout.width * int64_t(sizeof(Element));
  int64_t piece = std::clamp<int64_t>(kPieceBytes / rowBytes, 1, std::max<int64_t>(rows, 1));
  piece = llvm::alignTo(piece, layout.packingFactor);
  std::vector<Element> packed(piece * layout.width);
  for (int64_t matrix : offsetsOf(layout.matrices))
    for (int64_t first = 0; first < columns; first += layout.width)
      for (int64_t from = 0; from < rows; from += piece) {
        int64_t to = std::min(from + piece, rows);
        packer.packRows(matrix, first, from, to, packed.data());
        GANTRY_RETURN_IF_ERROR(sink(
            {reinterpret_cast<const uint8_t *>(packed.data()), size_t((to - from) * rowBytes)}));
      }
  return {};
}

Status PanelLayout::pack(std::span<const uint8_t> plain, unsigned elementBytes,
                         const Sink &sink) const {
  switch (elementBytes) {
  case 1:
    return packAs<uint8_t>(*this, plain, sink);
  case 2:
    return packAs<uint16_t>(*this, plain, sink);
  case 4:
    return packAs<uint32_t>(*this, plain, sink);
  default:
    return packAs<uint64_t>(*this, plain, sink);
  }
}
