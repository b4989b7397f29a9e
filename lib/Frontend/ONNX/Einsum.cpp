// Einsum: sums of products over named dimensions.
//
// Operands are joined from left to right. Each pair becomes one batched matrix product: names that
// both have and that are needed later are the batch, names that nobody needs later are summed, the
// others are rows and columns. "..." stands for names of its own.

#include "Handlers.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

namespace {

/// A letter, or a dimension of "..." counted from its end.
using Label = int;
using Labels = SmallVector<Label>;
constexpr Label kEllipsis = 1000;

struct Operand {
  Value value;
  Labels labels; ///< one for each dimension
};

class Einsum {
public:
  explicit Einsum(NodeContext &n) : n(n) {}
  Value run();

private:
  bool parse(StringRef equation);
  std::optional<Labels> parseTerm(StringRef term, int64_t rank);
  bool isNeeded(Label label, size_t after) const;
  void takeDiagonals(Operand &operand);
  void sumUnneeded(Operand &operand, size_t after, const Operand *other);
  Operand join(Operand a, Operand b, size_t after);
  /// `operand` with its dimensions in the order of `labels`; missing ones get size 1.
  Value arrange(const Operand &operand, const Labels &labels);
  int64_t sizeOf(const Operand &operand, const Labels &labels) {
    int64_t size = 1;
    for (Label label : labels)
      size *= sizes[label];
    return size;
  }

  NodeContext &n;
  SmallVector<Operand> operands;
  Labels output;
  std::map<Label, int64_t> sizes;
  int64_t ellipsisRank = 0;
};

} // namespace

/// The labels of one term; "..." takes the dimensions that the letters leave.
std::optional<Labels> Einsum::parseTerm(StringRef term, int64_t rank) {
  Labels labels;
  int64_t letters = llvm::count_if(term, llvm::isAlpha);
  while (!term.empty()) {
    if (term.consume_front("...")) {
      int64_t dims = rank < 0 ? ellipsisRank : rank - letters;
      for (int64_t i = dims; i-- > 0;)
        labels.push_back(kEllipsis + int(i));
      ellipsisRank = std::max(ellipsisRank, dims);
      continue;
    }
    if (!llvm::isAlpha(term.front())) {
      n.fail("the equation has '" + term.take_front(1) +
             "'; letters, '...', ',' and '->' are supported");
      return std::nullopt;
    }
    labels.push_back(term.front());
    term = term.drop_front();
  }
  if (rank >= 0 && int64_t(labels.size()) != rank) {
    n.fail("a term of the equation names " + Twine(labels.size()) +
           " dimensions, its operand has " + Twine(rank));
    return std::nullopt;
  }
  return labels;
}

bool Einsum::parse(StringRef equation) {
  std::string compact;
  for (char c : equation)
    if (c != ' ')
      compact.push_back(c);
  auto [left, right] = StringRef(compact).split("->");
  bool isExplicit = StringRef(compact).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs()) {
    n.fail("the equation has " + Twine(terms.size()) + " terms, the node " + Twine(n.numInputs()) +
           " operands");
    return false;
  }
  std::map<Label, int> uses;
  for (auto [term, value] : llvm::zip(terms, n.allInputs())) {
    auto labels = parseTerm(term, n.rankOf(value));
    if (!labels)
      return false;
    for (auto [label, size] : llvm::zip(*labels, n.shapeOf(value))) {
      ++uses[label];
      int64_t &known = sizes.try_emplace(label, size).first->second;
      if (known == 1)
        known = size;
      if (size != 1 && size != known) {
        n.fail("a name of the equation stands for sizes " + Twine(known) + " and " + Twine(size));
        return false;
      }
    }
    operands.push_back({value, *labels});
  }
  if (isExplicit) {
    auto labels = parseTerm(right, -1);
    if (!labels)
      return false;
    output = *labels;
  } else {
    // Implied: "..." first, then the letters that occur once, in alphabetical order.
    for (int64_t i = ellipsisRank; i-- > 0;)
      output.push_back(kEllipsis + int(i));
    for (auto [label, count] : uses)
      if (count == 1 && label < kEllipsis)
        output.push_back(label);
  }
  for (Label label : output)
    if (!sizes.contains(label) || llvm::count(output, label) != 1) {
      n.fail("the output of the equation names a dimension twice, or one that no operand has");
      return false;
    }
  return true;
}

/// Whether the output or an operand from `after` on names `label`.
bool Einsum::isNeeded(Label label, size_t after) const {
  return llvm::is_contained(output, label) ||
         llvm::any_of(llvm::drop_begin(operands, after),
                      [&](const Operand &o) { return llvm::is_contained(o.labels, label); });
}

/// A name that stands twice in a term picks the diagonal: all else is multiplied by 0 and summed
/// away.
void Einsum::takeDiagonals(Operand &operand) {
  for (size_t i = 0; i < operand.labels.size() && operand.value; ++i)
    for (size_t j = operand.labels.size() - 1; j > i; --j) {
      if (operand.labels[i] != operand.labels[j])
        continue;
      int64_t rank = int64_t(operand.labels.size()), size = n.shapeOf(operand.value)[i];
      Ints rows(rank, 1), columns(rank, 1);
      rows[i] = columns[j] = size;
      Value on = n.compare(CompareDirection::EQ, n.iota(rows, n.i64(), int64_t(i)),
                           n.iota(columns, n.i64(), int64_t(j)));
      Value kept = n.select(on, operand.value, n.scalar(n.elementOf(operand.value), 0));
      operand.value = n.reduce<ReduceSumOp>(kept, {int64_t(j)}, false);
      operand.labels.erase(operand.labels.begin() + j);
      if (!operand.value)
        return;
    }
}

void Einsum::sumUnneeded(Operand &operand, size_t after, const Operand *other) {
  Ints axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(operand.labels))
    if (isNeeded(label, after) || (other && llvm::is_contained(other->labels, label)))
      kept.push_back(label);
    else
      axes.push_back(int64_t(i));
  if (!axes.empty())
    operand.value = n.reduce<ReduceSumOp>(operand.value, axes, false);
  operand.labels = kept;
}

Value Einsum::arrange(const Operand &operand, const Labels &labels) {
  Ints permutation, shape;
  for (Label label : labels) {
    auto it = llvm::find(operand.labels, label);
    if (it == operand.labels.end()) {
      shape.push_back(1);
      continue;
    }
    int64_t at = it - operand.labels.begin();
    permutation.push_back(at);
    shape.push_back(n.shapeOf(operand.value)[at]);
  }
  return n.reshape(n.transpose(operand.value, permutation), shape);
}

Operand Einsum::join(Operand a, Operand b, size_t after) {
  sumUnneeded(a, after, &b);
  sumUnneeded(b, after, &a);
  if (!a.value || !b.value)
    return {};
  Labels batch, rows, columns, summed;
  for (Label label : a.labels) {
    bool shared = llvm::is_contained(b.labels, label);
    (!shared ? rows : isNeeded(label, after) ? batch : summed).push_back(label);
  }
  for (Label label : b.labels)
    if (!llvm::is_contained(a.labels, label))
      columns.push_back(label);

  // Sizes of 1 stretch; a matrix product wants them spelled out.
  auto matrix = [&](const Operand &operand, const Labels &first, const Labels &second, Ints shape) {
    Labels order(batch);
    llvm::append_range(order, first);
    llvm::append_range(order, second);
    Ints full;
    for (Label label : order)
      full.push_back(sizes[label]);
    return n.reshape(n.broadcast(arrange(operand, order), full), shape);
  };
  int64_t nb = sizeOf(a, batch), nr = sizeOf(a, rows), nc = sizeOf(b, columns),
          ns = sizeOf(a, summed);
  Value left = matrix(a, rows, summed, {nb, nr, ns}),
        right = matrix(b, summed, columns, {nb, ns, nc});
  Operand result;
  Ints shape;
  for (const Labels *part : {&batch, &rows, &columns})
    for (Label label : *part) {
      result.labels.push_back(label);
      shape.push_back(sizes[label]);
    }
  result.value = n.reshape(n.matmul(left, right), shape);
  return result;
}

Value Einsum::run() {
  if (!parse(n.stringAttr("equation", "")))
    return {};
  for (Operand &operand : operands)
    takeDiagonals(operand);
  Operand result = operands.front();
  for (size_t i = 1; i < operands.size() && result.value; ++i)
    result = operands[i].value ? join(result, operands[i], i + 1) : Operand();
  if (!result.value)
    return {};
  sumUnneeded(result, operands.size(), nullptr);
  return result.value ? arrange(result, output) : Value();
}

void gantry::onnx::addEinsumOp(OpTable &table) {
  auto einsum = [](NodeContext &n) -> Values {
    for (auto [i, operand] : llvm::enumerate(n.allInputs()))
      if (!operand)
        return {n.fail("operand " + Twine(i) + " is missing")};
    return {Einsum(n).run()};
  };
  table.add("Einsum", einsum, {1, kAny, 1});
}
