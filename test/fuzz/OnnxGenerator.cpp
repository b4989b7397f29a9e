// See OnnxGenerator.h.

#include "OnnxGenerator.h"

#include "ModelWriter.h"
#include "ONNX/Handlers.h"

#include <array>
#include <cstring>
#include <map>

using namespace gantry;
using namespace gantry::test;
using std::string_view;

namespace {

struct Form {
  string_view op, operands, attributes;
};
constexpr Form forms[] = {
#define ONNX_FORM(op, operands, attributes) {op, operands, attributes},
#include "OnnxForms.def"
};

/// Words that stand in attributes: modes, directions, paddings, functions.
constexpr string_view words[] = {"",
                                 "nearest",
                                 "linear",
                                 "cubic",
                                 "bilinear",
                                 "bicubic",
                                 "constant",
                                 "reflect",
                                 "edge",
                                 "wrap",
                                 "zeros",
                                 "border",
                                 "reflection",
                                 "NOTSET",
                                 "SAME_UPPER",
                                 "SAME_LOWER",
                                 "VALID",
                                 "none",
                                 "add",
                                 "mul",
                                 "max",
                                 "min",
                                 "avg",
                                 "sum",
                                 "mean",
                                 "tanh",
                                 "DCR",
                                 "CRD",
                                 "forward",
                                 "reverse",
                                 "LEFT",
                                 "bidirectional",
                                 "RIGHT",
                                 "half_pixel",
                                 "asymmetric",
                                 "align_corners",
                                 "floor",
                                 "ceil",
                                 "not_larger",
                                 "not_smaller",
                                 "stretch",
                                 "ij,jk->ik",
                                 "bij->bji",
                                 "...i,...i->...",
                                 "ii->i",
                                 "Sigmoid",
                                 "Tanh",
                                 "Relu",
                                 "HardSigmoid",
                                 "Affine",
                                 "circular",
                                 "round_prefer_ceil",
                                 "tf_crop_and_resize",
                                 "half_pixel_symmetric",
                                 "pytorch_half_pixel",
                                 "output_half_pixel"};

/// Element types by their number in ONNX, with their sizes in bytes.
constexpr std::pair<int, size_t> elements[] = {{1, 4},  {1, 4},  {7, 8}, {10, 2}, {11, 8}, {6, 4},
                                               {2, 1},  {3, 1},  {9, 1}, {16, 2}, {5, 2},  {4, 2},
                                               {12, 4}, {13, 8}, {8, 1}, {17, 1}, {22, 1}};

struct TensorType {
  int element = 1;
  std::vector<int64_t> shape;
};

size_t widthOf(int element) {
  for (auto [code, width] : elements)
    if (code == element)
      return width;
  return 1;
}

/// The graph under construction, or a body.
struct Frame {
  GraphText text;
  std::vector<std::string> names; ///< values that nodes here may use
};

class Generator {
public:
  explicit Generator(std::span<const uint8_t> choices) : choices(choices) {}

  GeneratedModel run() {
    opset = oneIn(12) ? number(0, 30) - 3 : number(7, 24);
    Frame graph;
    fill(graph, 1 + number(0, 3), {});
    Message model;
    model.number(1, oneIn(40) ? number(0, 20) - 2 : 8);
    model.message(8, Message().bytes(1, "").number(2, opset));
    model.message(8, Message().bytes(1, "com.microsoft").number(2, 1));
    model.message(8, Message().bytes(1, "ai.onnx.preview.training").number(2, 1));
    model.message(8, Message().bytes(1, "own").number(2, 1));
    model.message(7, graph.text.encode());
    for (const Message &function : functions)
      model.message(25, function);
    return {std::move(model.text), std::move(options)};
  }

private:
  //===--- Choices ---===//

  uint8_t byte() {
    if (at < choices.size())
      return choices[at++];
    return 0;
  }
  /// In [low, high].
  int64_t number(int64_t low, int64_t high) {
    uint64_t range = uint64_t(high - low) + 1;
    uint64_t drawn = byte();
    if (range > 256)
      drawn = drawn << 8 | byte();
    return low + int64_t(drawn % range);
  }
  bool oneIn(int64_t n) { return number(1, n) == n; }
  template <typename T>
  const auto &pick(const T &list) {
    return list[size_t(number(0, int64_t(std::size(list)) - 1))];
  }
  std::string fresh(const char *prefix) { return prefix + std::to_string(count++); }

  /// A size: small ones, the odd larger one.
  int64_t size() {
    static constexpr int64_t sizes[] = {1, 2, 3, 4, 1, 2, 5, 7, 8, 0, 17, 2, 3, 4, 6, 197};
    return pick(sizes);
  }
  /// An attribute's or index's number: small ones, now and then the ends of what there is.
  int64_t integer() {
    static constexpr int64_t ends[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,    1 << 20,
                                       4096,      -4096,     1 << 24,   INT64_MAX / 2};
    return oneIn(24) ? pick(ends) : number(0, 11) - 3;
  }

  //===--- Values ---===//

  /// Elements: small numbers, so that they are sizes, axes and indices as well.
  std::string elementsOf(const TensorType &type) {
    size_t total = 1, width = widthOf(type.element);
    for (int64_t dim : type.shape)
      total *= size_t(std::max<int64_t>(dim, 0));
    total = std::min<size_t>(total, 1 << 14);
    std::string raw;
    for (size_t i = 0; i < total; ++i) {
      char bytes[8] = {};
      int64_t value = i < 12 ? integer() : int64_t(i % 5);
      if (type.element == 1) {
        float real = float(value) * (i % 3 ? 1.0f : 0.5f);
        std::memcpy(bytes, &real, 4);
      } else if (type.element == 11) {
        double real = double(value);
        std::memcpy(bytes, &real, 8);
      } else {
        std::memcpy(bytes, &value, 8);
      }
      raw.append(bytes, width);
    }
    if (oneIn(60))
      raw.resize(raw.size() / 2);
    return raw;
  }

  Message tensorOf(const std::string &name, const TensorType &type) {
    return tensor(name, type.shape, type.element, elementsOf(type));
  }

  std::string initializer(Frame &frame, const TensorType &type) {
    std::string name = fresh("w");
    frame.text.initializers.push_back(tensorOf(name, type));
    return name;
  }

  /// An input of the graph, a dimension of it left open now and then.
  std::string input(Frame &frame, const TensorType &type) {
    std::string name = fresh("x");
    Message shape;
    for (size_t i = 0; i < type.shape.size(); ++i) {
      Message dim;
      if (type.shape[i] >= 0 && oneIn(30)) {
        std::string open = fresh("n");
        dim.bytes(2, open);
        if (!oneIn(10))
          options.dims.push_back({open, type.shape[i]});
      } else {
        dim.number(1, type.shape[i]);
      }
      shape.message(1, dim);
    }
    Message tensor = Message().number(1, type.element).message(2, shape);
    frame.text.inputs.push_back(Message().bytes(1, name).message(2, Message().message(1, tensor)));
    return name;
  }

  /// A value of this type. Bodies have no inputs of their own: what they use is constant or
  /// captured.
  std::string value(Frame &frame, const TensorType &type, bool constant) {
    std::string name =
        constant || depth > 0 || oneIn(4) ? initializer(frame, type) : input(frame, type);
    frame.names.push_back(name);
    return name;
  }

  //===--- Operands ---===//

  /// What letters and '*' of a form mean in this node.
  struct Sizes {
    std::map<char, int64_t> letters;
    std::vector<int64_t> any;
    int element = 1;
    size_t firstRank = 0;
  };

  Sizes drawSizes() {
    Sizes sizes;
    if (oneIn(3))
      sizes.element = pick(elements).first;
    for (int64_t i = number(0, 3); i > 0; --i)
      sizes.any.push_back(size());
    return sizes;
  }

  int64_t sizeOf(string_view token, Sizes &sizes) {
    int64_t factor = 0;
    while (!token.empty() && token.front() >= '0' && token.front() <= '9') {
      factor = factor * 10 + (token.front() - '0');
      token.remove_prefix(1);
    }
    if (token.empty())
      return factor;
    auto [it, isNew] = sizes.letters.try_emplace(token.front(), 0);
    if (isNew)
      it->second = size();
    return (factor ? factor : 1) * it->second;
  }

  static std::vector<string_view> split(string_view text, char by) {
    std::vector<string_view> parts;
    while (!text.empty()) {
      size_t end = std::min(text.find(by), text.size());
      parts.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
  }

  static int elementOf(char letter, int otherwise) {
    switch (letter) {
    case 'f':
      return 1;
    case 'i':
      return 7;
    case 'w':
      return 6;
    case 'u':
      return 2;
    case 's':
      return 3;
    case 'b':
      return 9;
    }
    return otherwise;
  }

  /// Something of what is right becomes something else.
  void spoil(TensorType &type) {
    switch (number(0, 3)) {
    case 0:
      type.element = pick(elements).first;
      break;
    case 1:
      type.shape.push_back(size());
      break;
    case 2:
      if (!type.shape.empty())
        type.shape.pop_back();
      break;
    case 3:
      if (!type.shape.empty())
        type.shape[size_t(number(0, int64_t(type.shape.size()) - 1))] =
            oneIn(10) ? integer() : size();
      break;
    }
  }

  std::vector<int64_t> shapeOf(string_view form, Sizes &sizes) {
    std::vector<int64_t> shape;
    for (string_view token : split(form, '.')) {
      if (token == "*")
        shape.insert(shape.end(), sizes.any.begin(), sizes.any.end());
      else
        shape.push_back(sizeOf(token, sizes));
    }
    return shape;
  }

  std::string operand(Frame &frame, string_view form, Sizes &sizes, bool isFirst) {
    if (form.starts_with('?')) {
      form.remove_prefix(1);
      if (oneIn(3))
        return "";
    }
    if (oneIn(40))
      return oneIn(2) ? "" : "nobody";
    if (!frame.names.empty() && oneIn(6))
      return pick(frame.names);
    TensorType type;
    type.element = sizes.element;
    bool isList = form.starts_with('@');
    if (size_t colon = form.find(':'); colon != string_view::npos) {
      type.element = elementOf(form[colon + 1], sizes.element);
      form = form.substr(0, colon);
    } else if (isList) {
      type.element = 7;
    }
    if (isList)
      type.shape = {form == "@r"   ? int64_t(sizes.firstRank)
                    : form == "@@" ? number(0, 4)
                                   : form[1] - '0'};
    else if (form != "$")
      type.shape = shapeOf(form, sizes);
    if (oneIn(12))
      spoil(type);
    if (isFirst)
      sizes.firstRank = type.shape.size();
    // What is large becomes an input: its elements need not be written.
    int64_t total = 1;
    for (int64_t dim : type.shape)
      total = dim > 0 && total < (1 << 20) ? total * dim : total;
    bool constant = (isList || form == "$") ? !oneIn(8) : total < 64 && oneIn(4);
    return value(frame, type, constant);
  }

  //===--- Nodes ---===//

  std::vector<int64_t> integers(size_t rank) {
    std::vector<int64_t> values;
    int64_t length = oneIn(3) ? number(0, 5) : oneIn(2) ? int64_t(rank) : number(1, 4);
    for (int64_t i = 0; i < length; ++i)
      values.push_back(integer());
    return values;
  }

  float real() {
    static constexpr float reals[] = {0, 1, -1, 0.5f, 1e-5f, 2, 1e30f, -0.25f, 3};
    return oneIn(30) ? __builtin_nanf("") : pick(reals);
  }

  static Message &addFloat(Message &message, int field, float value) {
    message.text.push_back(char(field << 3 | 5));
    message.text.append(reinterpret_cast<const char *>(&value), 4);
    return message;
  }

  Message attributeOf(const std::string &name, char type, size_t rank, size_t operands,
                      Frame &frame) {
    switch (type) {
    case 'i':
      return attribute(name, integer());
    case 'I':
      return attribute(name, integers(rank));
    case 's':
      return Message().bytes(1, name).bytes(4, pick(words)).number(20, 3);
    case 'f': {
      Message out = Message().bytes(1, name).number(20, 1);
      return addFloat(out, 2, real());
    }
    case 'F': {
      Message out = Message().bytes(1, name).number(20, 6);
      for (int64_t i = number(0, 4); i > 0; --i)
        addFloat(out, 7, real());
      return out;
    }
    case 'S': {
      Message out = Message().bytes(1, name).number(20, 8);
      for (int64_t i = number(0, 6); i > 0; --i)
        out.bytes(9, pick(words));
      return out;
    }
    case 't': {
      TensorType type{pick(elements).first, {}};
      for (int64_t i = number(0, 2); i > 0; --i)
        type.shape.push_back(size());
      return Message().bytes(1, name).message(5, tensorOf("", type)).number(20, 4);
    }
    default:
      return graphAttribute(name, body(frame, name == "body" ? operands : 0));
    }
  }

  /// A body with `inputs` inputs and about as many outputs, which sees the names around it.
  Message body(Frame &around, size_t inputs) {
    Frame frame;
    frame.names = around.names;
    std::vector<std::string> own;
    for (size_t i = 0; i < inputs && i < 4; ++i) {
      own.push_back(fresh("b"));
      frame.names.push_back(own.back());
      frame.text.inputs.push_back(Message().bytes(1, own.back()));
    }
    ++depth;
    fill(frame, depth > 3 ? 0 : number(0, 2), own);
    --depth;
    return frame.text.encode();
  }

  void addNode(Frame &frame) {
    const Form *form = nullptr;
    std::string op, domain;
    if (!oneIn(3)) {
      form = &pick(forms);
      op = form->op;
      bool isOwn = onnx::getOpTable().find("", op) && (op != "Attention" || opset >= 23);
      domain = isOwn && !oneIn(30) ? "" : "com.microsoft";
    } else {
      static const std::vector<std::string> known = onnx::getOpTable().supported();
      op = pick(known);
      if (size_t colon = op.find(':'); colon != std::string::npos) {
        domain = op.substr(0, colon);
        op = op.substr(colon + 1);
      }
      for (const Form &other : forms)
        if (other.op == op && (!form || oneIn(2)))
          form = &other;
    }
    Sizes sizes = drawSizes();
    std::vector<std::string> operands;
    if (form)
      for (string_view one : split(form->operands, '|'))
        operands.push_back(operand(frame, one, sizes, operands.empty()));
    else
      for (int64_t i = number(1, 3); i > 0; --i)
        operands.push_back(operand(frame, "*", sizes, operands.empty()));
    while (!operands.empty() && operands.back().empty() && !oneIn(4))
      operands.pop_back();
    if (oneIn(20))
      operands.push_back(operand(frame, "*", sizes, false));
    if (!functions.empty() && oneIn(4)) {
      op = "f";
      domain = "own";
    }
    const Form &attributesOf = form && !oneIn(20) ? *form : pick(forms);
    Message out;
    std::vector<Message> attributes;
    for (string_view text : split(attributesOf.attributes, ' ')) {
      char type = text.back();
      if (type != 'g' && !oneIn(3))
        continue;
      static constexpr char types[] = "iIfFsSt";
      if (oneIn(40))
        type = types[number(0, 6)];
      attributes.push_back(attributeOf(std::string(text.substr(0, text.size() - 2)), type,
                                       sizes.firstRank, operands.size(), frame));
    }
    int64_t outputs = oneIn(4) ? number(0, 4) : 1;
    for (const std::string &one : operands)
      out.bytes(1, one);
    for (int64_t i = 0; i < outputs; ++i) {
      std::string name = oneIn(60) && !frame.names.empty() ? pick(frame.names) : fresh("v");
      frame.names.push_back(name);
      out.bytes(2, oneIn(30) ? "" : name);
    }
    out.bytes(4, op).bytes(7, domain);
    for (const Message &one : attributes)
      out.message(5, one);
    frame.text.nodes.push_back(std::move(out));
  }

  void addFunction() {
    Frame frame;
    frame.names = {"p", "q"};
    ++depth;
    addNode(frame);
    --depth;
    Message out;
    out.bytes(1, "f").bytes(4, "p").bytes(4, "q").bytes(5, frame.names.back());
    for (const Message &one : frame.text.nodes)
      out.message(7, one);
    out.message(9, Message().bytes(1, "").number(2, opset)).bytes(10, "own");
    functions.push_back(std::move(out));
  }

  /// Nodes, and outputs of them; `carried` are names that a body gives back.
  void fill(Frame &frame, int64_t nodes, const std::vector<std::string> &carried) {
    if (depth == 0 && oneIn(20))
      addFunction();
    for (int64_t i = 0; i < nodes; ++i)
      addNode(frame);
    int64_t outputs = depth == 0 ? 1 : number(1, 2);
    if (!carried.empty())
      frame.text.outputs.push_back(Message().bytes(1, carried[carried.size() > 1 ? 1 : 0]));
    for (size_t i = 2; i < carried.size() && !oneIn(8); ++i)
      frame.text.outputs.push_back(Message().bytes(1, oneIn(3) ? pick(frame.names) : carried[i]));
    for (int64_t i = 0; i < outputs && !frame.names.empty(); ++i) {
      Message out = Message().bytes(1, oneIn(3) ? pick(frame.names) : frame.names.back());
      if (oneIn(10))
        out.message(2, Message().message(1, Message().number(1, pick(elements).first)));
      frame.text.outputs.push_back(std::move(out));
    }
  }

  std::span<const uint8_t> choices;
  size_t at = 0, count = 0;
  int64_t opset = 17;
  int depth = 0;
  ImportOptions options;
  std::vector<Message> functions;
};

} // namespace

GeneratedModel gantry::test::generateModel(std::span<const uint8_t> choices) {
  return Generator(choices).run();
}
