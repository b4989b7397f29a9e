#include "gantry/Frontend/OpTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace gantry;

static const std::vector<OpRow> &allRows() {
  static const std::vector<OpRow> rows = {
#define GANTRY_OP_ROWS
#include "gantry/Frontend/OpTable.inc"
#undef GANTRY_OP_ROWS
  };
  return rows;
}

llvm::StringRef gantry::attributeKindName(AttributeKind kind) {
  static constexpr llvm::StringLiteral names[] = {"unit",    "int",    "float",  "string",
                                                  "ints",    "floats", "symbol", "device",
                                                  "devices", "enum",   "text"};
  return names[static_cast<size_t>(kind)];
}

const OpRow *gantry::findOp(llvm::StringRef name) {
  name.consume_front("gantry.");
  const std::vector<OpRow> &rows = allRows();
  auto bare = [](const OpRow &row) { return row.name.substr(sizeof("gantry.") - 1); };
  // They are in the order of their names.
  auto found = llvm::lower_bound(
      rows, name, [&](const OpRow &row, llvm::StringRef wanted) { return bare(row) < wanted; });
  return found != rows.end() && bare(*found) == name ? &*found : nullptr;
}

const char *gantry::opTableJSON() {
  return
#define GANTRY_OP_JSON
#include "gantry/Frontend/OpTable.inc"
#undef GANTRY_OP_JSON
      ;
}
