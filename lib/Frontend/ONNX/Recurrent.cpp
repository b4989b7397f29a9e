// RNN, GRU and LSTM: a loop over their static number of steps.
//
// The products of the inputs with the weights are taken for all steps at once; a step then
// multiplies only the state. Sequences of different lengths keep their state where a step lies
// behind their end.

#include "Steps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

namespace {

/// One activation function with its parameters.
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

struct State {
  Value h, c;
};

/// Everything about the node that both directions share, and the weights of the one at work.
struct Cell {
  Cell(NodeContext &n, int64_t gates) : n(n), gates(gates) {}

  using StepOfCell = llvm::function_ref<State(Cell &, Value input, State)>;
  bool read();
  Values run(StepOfCell step);
  bool isLstm() const { return gates == 4; }

  Value activate(size_t which, Value x);
  /// Columns of gate `i` in [batch, gates * hidden].
  Value gate(Value v, int64_t i) { return n.sliceAxis(v, n.rankOf(v) - 1, i * hidden, hidden); }
  Value recur(Value h, int64_t from, int64_t count) {
    return n.matmul(h, n.sliceAxis(recurrence, 0, from * hidden, count * hidden), false, true);
  }

  NodeContext &n;
  int64_t gates;
  int64_t hidden = 0, steps = 0, batch = 0, directions = 1;
  bool batchFirst = false, linearBeforeReset = false, coupled = false;
  std::string direction;
  std::optional<double> clip;
  std::vector<Activation> activations;
  size_t perDirection = 0;
  Value zero; ///< [batch, hidden]
  // Of the direction at work.
  size_t current = 0;
  Value recurrence;     ///< [gates * hidden, hidden]
  Value recurrenceBias; ///< [gates * hidden], or null
  Value peepholes;      ///< [3 * hidden], or null

private:
  bool readActivations(llvm::ArrayRef<StringRef> defaults);
  Value project(Value x);
  std::optional<Values> runDirection(Value projected, Value lengths, ArrayRef<Value> before,
                                     StepOfCell step);
  Value ofDirection(Value v, size_t d) {
    if (!v)
      return {};
    Ints shape = n.shapeOf(v);
    shape.erase(shape.begin());
    return n.reshape(n.sliceAxis(v, 0, int64_t(d), 1), shape);
  }
};

} // namespace

bool Cell::readActivations(llvm::ArrayRef<StringRef> defaults) {
  perDirection = defaults.size();
  auto names = n.stringsAttr("activations");
  auto alphas = n.floatsAttr("activation_alpha").value_or(std::vector<float>());
  auto betas = n.floatsAttr("activation_beta").value_or(std::vector<float>());
  for (int64_t d = 0; names.empty() && d < directions; ++d)
    for (StringRef name : defaults)
      activations.push_back({name.str(), std::nullopt, std::nullopt});
  for (StringRef name : names)
    activations.push_back({name.str(), std::nullopt, std::nullopt});
  // Parameters stand in the order of the functions that take them.
  size_t a = 0, b = 0;
  for (Activation &activation : activations) {
    llvm::StringRef name = activation.name;
    bool takesAlpha = name.equals_insensitive("LeakyRelu") || name.equals_insensitive("Elu") ||
                      name.equals_insensitive("ThresholdedRelu") ||
                      name.equals_insensitive("Affine") || name.equals_insensitive("ScaledTanh") ||
                      name.equals_insensitive("HardSigmoid");
    bool takesBeta = name.equals_insensitive("Affine") || name.equals_insensitive("ScaledTanh") ||
                     name.equals_insensitive("HardSigmoid");
    if (takesAlpha && a < alphas.size())
      activation.alpha = alphas[a++];
    if (takesBeta && b < betas.size())
      activation.beta = betas[b++];
  }
  if (activations.size() == perDirection * size_t(directions))
    return true;
  n.fail("activations lists " + Twine(activations.size()) + " functions, expected " +
         Twine(perDirection * size_t(directions)));
  return false;
}

bool Cell::read() {
  Value x = n.input(0), w = n.input(1), r = n.input(2);
  if (n.rankOf(x) != 3 || n.rankOf(w) != 3 || n.rankOf(r) != 3) {
    n.fail("operands 0 to 2 need 3 dimensions each");
    return false;
  }
  batchFirst = n.intAttr("layout", 0) != 0;
  direction = n.stringAttr("direction", "forward").str();
  directions = direction == "bidirectional" ? 2 : 1;
  linearBeforeReset = gates == 3 && n.intAttr("linear_before_reset", 0) != 0;
  coupled = gates == 4 && n.intAttr("input_forget", 0) != 0;
  hidden = n.shapeOf(r)[2];
  if (n.hasAttr("clip"))
    clip = n.floatAttr("clip", 0);
  steps = n.shapeOf(x)[batchFirst ? 1 : 0];
  batch = n.shapeOf(x)[batchFirst ? 0 : 1];
  if (direction != "forward" && direction != "reverse" && directions == 1) {
    n.fail("direction '" + direction +
           "' is not supported; forward, reverse and bidirectional are");
    return false;
  }
  int64_t declared = n.intAttr("hidden_size", hidden);
  if (declared != hidden || n.shapeOf(w)[0] != directions || n.shapeOf(r)[0] != directions ||
      n.shapeOf(w)[1] != gates * hidden || n.shapeOf(r)[1] != gates * hidden ||
      n.shapeOf(w)[2] != n.shapeOf(x)[2]) {
    n.fail("the weights do not fit hidden_size, direction and the input");
    return false;
  }
  Value bias = n.input(3);
  if (bias && n.shapeOf(bias) != Ints{directions, 2 * gates * hidden}) {
    n.fail("the bias must have the shape [" + Twine(directions) + "," + Twine(2 * gates * hidden) +
           "]");
    return false;
  }
  for (size_t i : {size_t(5), size_t(6)}) {
    Ints expected = batchFirst ? Ints{batch, directions, hidden} : Ints{directions, batch, hidden};
    if (n.input(i) && n.shapeOf(n.input(i)) != expected) {
      n.fail("operand " + Twine(i) +
             " (initial state) does not fit batch, direction and hidden_size");
      return false;
    }
  }
  if (Value p = n.input(7); p && n.shapeOf(p) != Ints{directions, 3 * hidden}) {
    n.fail("operand 7 (peepholes) must have the shape [" + Twine(directions) + "," +
           Twine(3 * hidden) + "]");
    return false;
  }
  if (Value lengths = n.input(4); lengths && n.shapeOf(lengths) != Ints{batch}) {
    n.fail("operand 4 (sequence_lens) must have one entry for each of the " + Twine(batch) +
           " sequences");
    return false;
  }
  if (gates == 1)
    return readActivations({"Tanh"});
  if (gates == 3)
    return readActivations({"Sigmoid", "Tanh"});
  return readActivations({"Sigmoid", "Tanh", "Tanh"});
}

Value Cell::activate(size_t which, Value x) {
  const Activation &activation = activations[current * perDirection + which];
  StringRef name = activation.name;
  if (!x)
    return {};
  mlir::Type element = n.elementOf(x);
  if (clip)
    x = n.make<ClampOp>(x, n.scalar(element, -*clip), n.scalar(element, *clip));
  if (name.equals_insensitive("Sigmoid"))
    return n.make<SigmoidOp>(x);
  if (name.equals_insensitive("Tanh"))
    return n.make<TanhOp>(x);
  if (name.equals_insensitive("Relu"))
    return n.make<ReluOp>(x);
  if (name.equals_insensitive("Softsign"))
    return n.make<SoftsignOp>(x);
  if (name.equals_insensitive("Softplus"))
    return n.make<SoftplusOp>(x);
  if (name.equals_insensitive("LeakyRelu"))
    return n.make<LeakyReluOp>(x, APFloat(activation.alpha.value_or(0.01)));
  if (name.equals_insensitive("Elu"))
    return n.make<EluOp>(x, APFloat(activation.alpha.value_or(1.0)));
  if (name.equals_insensitive("ThresholdedRelu"))
    return n.make<ThresholdedReluOp>(x, APFloat(activation.alpha.value_or(1.0)));
  if (name.equals_insensitive("HardSigmoid"))
    return n.make<HardSigmoidOp>(x, APFloat(activation.alpha.value_or(0.2)),
                                 APFloat(activation.beta.value_or(0.5)));
  if (name.equals_insensitive("Affine"))
    return n.addScalar(n.mulScalar(x, activation.alpha.value_or(1.0)),
                       activation.beta.value_or(0.0));
  if (name.equals_insensitive("ScaledTanh"))
    return n.mulScalar(n.make<TanhOp>(n.mulScalar(x, activation.beta.value_or(1.0))),
                       activation.alpha.value_or(1.0));
  return n.fail("activation '" + name +
                "' is not supported; Sigmoid, Tanh, Relu, Softsign, Softplus, LeakyRelu, Elu, "
                "ThresholdedRelu, HardSigmoid, Affine and ScaledTanh are");
}

/// Takes the weights of the direction at work, and their products with all inputs.
Value Cell::project(Value x) {
  Value weight = ofDirection(n.input(1), current), bias = ofDirection(n.input(3), current);
  recurrence = ofDirection(n.input(2), current);
  recurrenceBias = bias ? n.sliceAxis(bias, 0, gates * hidden, gates * hidden) : Value();
  peepholes = isLstm() ? ofDirection(n.input(7), current) : Value();
  Value projected =
      n.matmul(n.reshape(x, {steps * batch, n.shapeOf(n.input(0))[2]}), weight, false, true);
  if (bias)
    projected = n.add(projected, n.sliceAxis(bias, 0, 0, gates * hidden));
  return n.reshape(projected, {steps, batch, gates * hidden});
}

/// The state after all steps of the direction at work, then what it was after each.
std::optional<Values> Cell::runDirection(Value projected, Value lengths, ArrayRef<Value> before,
                                         StepOfCell step) {
  Order order = orderOf(direction == "reverse" || current == 1);
  auto body = [&](Step &at, ArrayRef<Value> carried) -> std::optional<StepResult> {
    State state{carried[0], isLstm() ? carried[1] : Value()};
    State next = step(*this, at.take(projected, 0, order), state);
    Value shown = next.h;
    if (lengths) {
      Value inside = n.compare(CompareDirection::GT, lengths, at.index(order));
      shown = n.select(inside, next.h, zero);
      next.h = n.select(inside, next.h, state.h);
      if (isLstm())
        next.c = n.select(inside, next.c, state.c);
    }
    Values results{next.h};
    if (isLstm())
      results.push_back(next.c);
    return StepResult{results, {n.reshape(shown, {1, batch, hidden})}};
  };
  Collect collect{0, order};
  return runSteps(n, {steps, before, collect, body});
}

Values Cell::run(StepOfCell step) {
  if (!read())
    return {};
  Value x = n.input(0), lengths = n.input(4);
  mlir::Type element = n.elementOf(x);
  if (batchFirst)
    x = n.transpose(x, {1, 0, 2});
  auto initial = [&](size_t operand) {
    Value v = n.input(operand);
    return v && batchFirst ? n.transpose(v, {1, 0, 2}) : v;
  };
  Value h0 = initial(5), c0 = isLstm() ? initial(6) : Value();
  zero = n.full({batch, hidden}, element, 0);
  if (lengths)
    lengths = n.reshape(n.cast(lengths, n.i64()), {batch, 1});

  SmallVector<Value> outputs, lastH, lastC;
  for (current = 0; current < size_t(directions); ++current) {
    Value projected = project(x);
    if (!projected)
      return {};
    Values before{h0 ? ofDirection(h0, current) : zero};
    if (isLstm())
      before.push_back(c0 ? ofDirection(c0, current) : zero);
    auto results = runDirection(projected, lengths, before, step);
    if (!results)
      return {};
    outputs.push_back(results->back());
    lastH.push_back(n.reshape(results->front(), {1, batch, hidden}));
    if (isLstm())
      lastC.push_back(n.reshape((*results)[1], {1, batch, hidden}));
  }
  Values all{n.concat(outputs, 1), n.concat(lastH, 0)};
  if (isLstm())
    all.push_back(n.concat(lastC, 0));
  if (batchFirst) {
    all[0] = n.transpose(all[0], {2, 0, 1, 3});
    for (Value &last : MutableArrayRef(all).drop_front())
      last = n.transpose(last, {1, 0, 2});
  }
  return all;
}

static Values rnn(NodeContext &n) {
  return Cell(n, 1).run([](Cell &cell, Value input, State state) -> State {
    NodeContext &n = cell.n;
    Value sum = n.add(input, cell.recur(state.h, 0, 1));
    if (cell.recurrenceBias)
      sum = n.add(sum, cell.recurrenceBias);
    return {cell.activate(0, sum), {}};
  });
}

/// Gates z (update), r (reset), h (candidate).
static Values gru(NodeContext &n) {
  return Cell(n, 3).run([](Cell &cell, Value input, State state) -> State {
    NodeContext &n = cell.n;
    auto biased = [&](Value v, int64_t gate, int64_t count) {
      return cell.recurrenceBias && v
                 ? n.add(v, n.sliceAxis(cell.recurrenceBias, 0, gate * cell.hidden,
                                        count * cell.hidden))
                 : v;
    };
    Value zr =
        n.add(n.sliceAxis(input, 1, 0, 2 * cell.hidden), biased(cell.recur(state.h, 0, 2), 0, 2));
    if (!zr)
      return {};
    Value z = cell.activate(0, cell.gate(zr, 0)), r = cell.activate(0, cell.gate(zr, 1));
    Value fresh = cell.linearBeforeReset ? n.mul(r, biased(cell.recur(state.h, 2, 1), 2, 1))
                                         : biased(cell.recur(n.mul(r, state.h), 2, 1), 2, 1);
    Value candidate = cell.activate(1, n.add(cell.gate(input, 2), fresh));
    Value keep = n.sub(n.scalar(n.elementOf(input), 1), z);
    return {n.add(n.mul(keep, candidate), n.mul(z, state.h)), {}};
  });
}

/// Gates i (input), o (output), f (forget), c (candidate); peepholes of i, o, f.
static Values lstm(NodeContext &n) {
  return Cell(n, 4).run([](Cell &cell, Value input, State state) -> State {
    NodeContext &n = cell.n;
    Value all = n.add(input, cell.recur(state.h, 0, 4));
    if (cell.recurrenceBias)
      all = n.add(all, cell.recurrenceBias);
    if (!all)
      return {};
    auto peep = [&](Value v, int64_t which, Value c) {
      return cell.peepholes
                 ? n.add(v,
                         n.mul(n.sliceAxis(cell.peepholes, 0, which * cell.hidden, cell.hidden), c))
                 : v;
    };
    Value i = cell.activate(0, peep(cell.gate(all, 0), 0, state.c));
    // A coupled cell forgets as much as it takes in: its own sum for f is not looked at.
    Value f = cell.coupled ? n.sub(n.scalar(n.elementOf(input), 1), i)
                           : cell.activate(0, peep(cell.gate(all, 2), 2, state.c));
    Value c = n.add(n.mul(f, state.c), n.mul(i, cell.activate(1, cell.gate(all, 3))));
    Value o = cell.activate(0, peep(cell.gate(all, 1), 1, c));
    // The clip is for the sums going into the gates, not for the cell.
    auto clip = std::exchange(cell.clip, std::nullopt);
    Value h = n.mul(o, cell.activate(2, c));
    cell.clip = clip;
    return {h, c};
  });
}

void gantry::onnx::addRecurrentOps(OpTable &table) {
  table.add("RNN", rnn, {3, 6, 2});
  table.add("GRU", gru, {3, 6, 2});
  table.add("LSTM", lstm, {3, 8, 3});
}
