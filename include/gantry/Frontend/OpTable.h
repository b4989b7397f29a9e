// The ops that graphs are made of, as their definitions say: which operands and attributes each
// has. Made by gantry-op-table from the .td files; whoever builds ops without C++ types asks here.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace gantry {

enum class Arity { one, optional, variadic };

/// What an attribute holds; the order is that of gantry_attribute_kind_t.
enum class AttributeKind {
  unit_,
  int_,
  float_,
  string_,
  ints_,
  floats_,
  symbol_,
  device_,
  devices_,
  enum_,
  text_
};

/// "int", "floats", ...: as the table in JSON says.
llvm::StringRef attributeKindName(AttributeKind kind);

/// An operand or result.
struct ValueRow {
  llvm::StringRef name;
  Arity arity;
  uint32_t elements; ///< a bit for each ElementType that it may have
};

struct AttributeRow {
  llvm::StringRef name;
  AttributeKind kind;
  bool isOptional;
  llvm::StringRef mnemonic;           ///< of enums: #gantry<MNEMONIC CASE>
  std::vector<llvm::StringRef> cases; ///< of enums
};

struct OpRow {
  llvm::StringRef name; ///< with the dialect's
  bool isOfGraphs;      ///< else passes make it
  bool infersTypes;     ///< of its results
  unsigned regions;
  std::vector<ValueRow> operands, results;
  std::vector<AttributeRow> attributes;
};

/// The op of that name, "matmul", with the dialect's name or without; null when there is none.
const OpRow *findOp(llvm::StringRef name);

/// The table as JSON (gantry-c/graph.h describes it).
const char *opTableJSON();

} // namespace gantry
