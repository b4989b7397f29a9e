// Writes small ONNX models for tests, field by field, so that tests need neither files nor Python
// and can also write what no exporter would.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

/// One protocol-buffer message under construction.
class Message {
public:
  Message &number(int field, int64_t value) {
    varint(uint64_t(field) << 3);
    varint(uint64_t(value));
    return *this;
  }
  Message &bytes(int field, std::string_view value) {
    varint(uint64_t(field) << 3 | 2);
    varint(value.size());
    text.append(value);
    return *this;
  }
  Message &message(int field, const Message &inner) { return bytes(field, inner.text); }

  std::string text;

private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text.push_back(char(value | 0x80));
    text.push_back(char(value));
  }
};

using Names = std::vector<std::string>;

enum ElementCode { Float = 1, Int64 = 7, StringElement = 8, Bool = 9 };

/// A dimension: a size, or a name when it is left open; nameless with "?".
struct DimText {
  DimText(int size) : size(size) {}
  DimText(const char *name) : name(name) {}
  int64_t size = -1;
  std::string name;
};

inline Message valueInfo(const std::string &name, int element,
                         std::initializer_list<DimText> dims) {
  Message shape;
  for (const DimText &dim : dims) {
    Message one;
    if (dim.size >= 0)
      one.number(1, dim.size);
    else if (dim.name != "?")
      one.bytes(2, dim.name);
    shape.message(1, one);
  }
  return Message().bytes(1, name).message(
      2, Message().message(1, Message().number(1, element).message(2, shape)));
}

inline Message attribute(const std::string &name, int64_t value) {
  return Message().bytes(1, name).number(3, value).number(20, 2);
}
inline Message attribute(const std::string &name, const std::vector<int64_t> &values) {
  Message out;
  out.bytes(1, name).number(20, 7);
  for (int64_t value : values)
    out.number(8, value);
  return out;
}
inline Message graphAttribute(const std::string &name, const Message &graph) {
  return Message().bytes(1, name).message(6, graph).number(20, 5);
}

inline Message node(const std::string &op, const Names &inputs, const Names &outputs,
                    std::initializer_list<Message> attributes = {}, const std::string &name = "",
                    const std::string &domain = "") {
  Message out;
  for (const std::string &input : inputs)
    out.bytes(1, input);
  for (const std::string &output : outputs)
    out.bytes(2, output);
  out.bytes(3, name).bytes(4, op).bytes(7, domain);
  for (const Message &one : attributes)
    out.message(5, one);
  return out;
}

inline Message tensor(const std::string &name, const std::vector<int64_t> &dims, int element,
                      std::string_view raw) {
  Message out;
  for (int64_t dim : dims)
    out.number(1, dim);
  return out.number(2, element).bytes(8, name).bytes(9, raw);
}
inline Message int64Tensor(const std::string &name, const std::vector<int64_t> &values) {
  return tensor(name, {int64_t(values.size())}, Int64,
                {reinterpret_cast<const char *>(values.data()), values.size() * 8});
}
inline Message externalTensor(const std::string &name, const std::vector<int64_t> &dims,
                              const std::string &location, const std::string &offset = "0") {
  Message out;
  for (int64_t dim : dims)
    out.number(1, dim);
  out.number(2, Float).bytes(8, name).number(14, 1);
  out.message(13, Message().bytes(1, "location").bytes(2, location));
  return out.message(13, Message().bytes(1, "offset").bytes(2, offset));
}

struct GraphText {
  std::vector<Message> nodes, inputs, outputs, initializers;
  std::string name = "g";

  Message encode() const {
    Message out;
    for (const Message &one : nodes)
      out.message(1, one);
    out.bytes(2, name);
    for (const Message &one : initializers)
      out.message(5, one);
    for (const Message &one : inputs)
      out.message(11, one);
    for (const Message &one : outputs)
      out.message(12, one);
    return out;
  }
};

inline std::string model(const GraphText &graph, int64_t opset = 17) {
  return Message()
      .number(1, 8)
      .message(8, Message().bytes(1, "").number(2, opset))
      .message(7, graph.encode())
      .text;
}

} // namespace gantry::test
