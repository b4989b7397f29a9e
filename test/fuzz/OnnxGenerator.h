// Makes ONNX models of choices: valid as a file, anything as a graph. The bytes of a fuzzer are the
// choices, so that it steers what is made; every list of bytes gives a model.
//
// Nodes are of the importer's own table of ops. Most get operands of shapes that belong together
// (OnnxForms.def says which) and attributes that the op has, then some of it is spoilt. What the
// importer accepts has to import; what it does not has to end in a diagnostic.
#pragma once

#include "gantry/Frontend/Frontend.h"

#include <cstdint>
#include <span>
#include <string>

namespace gantry::test {

struct GeneratedModel {
  std::string bytes;
  ImportOptions options; ///< sizes for dimensions that it leaves open
};

GeneratedModel generateModel(std::span<const uint8_t> choices);

} // namespace gantry::test
