// A GraphReport for people and as JSON.

#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Frontend/Frontend.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace gantry;
namespace json = llvm::json;

std::string GraphPort::type() const {
  if (!isTensor)
    return kind;
  if (!dims)
    return kind + "[...]";
  std::vector<std::string> texts;
  for (const Dim &dim : *dims)
    texts.push_back(dim.size ? std::to_string(*dim.size) : dim.name.empty() ? "?" : dim.name);
  return kind + "[" + llvm::join(texts, ",") + "]";
}

std::string GraphPort::dimName(size_t axis) const {
  const std::string &given = (*dims)[axis].name;
  return given.empty() ? name + ":" + std::to_string(axis) : given;
}

static void printPorts(llvm::StringRef what, const std::vector<GraphPort> &ports,
                       llvm::raw_ostream &os) {
  for (const GraphPort &port : ports)
    os << what << " " << port.name << ": " << port.type() << "\n";
}

void gantry::printReport(const GraphReport &report, llvm::raw_ostream &os) {
  os << "format " << report.format;
  for (auto &[domain, version] : report.opsets)
    os << ", opset " << version << " of " << domain;
  if (!report.producer.empty())
    os << ", from " << report.producer;
  os << "\n";
  printPorts("input", report.inputs, os);
  printPorts("output", report.outputs, os);
  for (const GraphReport::OpCount &op : report.ops)
    os << "op " << op.op << ": " << op.count << (op.supported ? "" : " (not supported)") << "\n";
  for (const std::string &dim : report.openDims)
    os << "open dimension " << dim << ": give it with " << dimFlags({dim}) << "\n";
  for (const std::string &input : report.shapeInputs)
    os << "input " << input << " decides shapes: give it with --value " << input << "=VALUE\n";
  for (const std::string &warning : report.warnings)
    os << "warning: " << warning << "\n";
  for (const GraphReport::Issue &issue : report.issues) {
    os << "not supported: ";
    if (!issue.op.empty())
      os << "node '" << issue.node << "' (" << issue.op << " of " << issue.domain << ", opset "
         << issue.opset << "): ";
    os << issue.message << "\n";
  }
  os << (report.isSupported() ? "everything is supported\n" : "");
  if (!report.isSupported())
    os << report.issues.size() << (report.issues.size() == 1 ? " thing is" : " things are")
       << " not supported\n";
  const bool isOfNodes =
      llvm::any_of(report.issues, [](const auto &issue) { return !issue.op.empty(); });
  if (isOfNodes)
    os << "what comes before can be compiled: --outputs=NAME ends the graph at that value\n";
}

void gantry::printReportAsJson(const GraphReport &report, llvm::raw_ostream &os) {
  auto ports = [](const std::vector<GraphPort> &from) {
    json::Array array;
    for (const GraphPort &port : from)
      array.push_back(
          json::Object{{"name", json::fixUTF8(port.name)}, {"type", json::fixUTF8(port.type())}});
    return array;
  };
  auto strings = [](const std::vector<std::string> &from) {
    json::Array array;
    for (const std::string &text : from)
      array.push_back(json::fixUTF8(text));
    return array;
  };
  json::Object opsets;
  for (auto &[domain, version] : report.opsets)
    opsets[json::fixUTF8(domain)] = version;
  json::Array ops, issues;
  for (const GraphReport::OpCount &op : report.ops)
    ops.push_back(json::Object{
        {"op", json::fixUTF8(op.op)}, {"count", op.count}, {"supported", op.supported}});
  for (const GraphReport::Issue &issue : report.issues)
    issues.push_back(json::Object{{"node", json::fixUTF8(issue.node)},
                                  {"op", json::fixUTF8(issue.op)},
                                  {"domain", json::fixUTF8(issue.domain)},
                                  {"opset", issue.opset},
                                  {"message", json::fixUTF8(issue.message)}});
  json::Value value = json::Object{{"format", report.format},
                                   {"producer", json::fixUTF8(report.producer)},
                                   {"opsets", std::move(opsets)},
                                   {"inputs", ports(report.inputs)},
                                   {"outputs", ports(report.outputs)},
                                   {"ops", std::move(ops)},
                                   {"open_dims", strings(report.openDims)},
                                   {"shape_inputs", strings(report.shapeInputs)},
                                   {"warnings", strings(report.warnings)},
                                   {"issues", std::move(issues)},
                                   {"gaps", json::Array()}, // every op has its kernels
                                   {"supported", report.isSupported()}};
  os << llvm::formatv("{0:2}", value) << "\n";
}
