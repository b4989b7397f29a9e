#include "RefuseBytecode.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

static constexpr StringLiteral kRead = "mlir/convertFromBytecode";
static constexpr StringLiteral kRefused = "gantry/refusedBytecode";

/// The message as an object; nothing for what the server is to complain about.
static std::optional<json::Object> parseObject(StringRef message) {
  Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    consumeError(parsed.takeError());
    return std::nullopt;
  }
  json::Object *object = parsed->getAsObject();
  return object ? std::optional(std::move(*object)) : std::nullopt;
}

static std::string textOf(json::Object object) {
  return formatv("{0:2}", json::Value(std::move(object))).str();
}

std::string gantry::lsp::withoutBytecode(StringRef message) {
  std::optional<json::Object> object = parseObject(message);
  if (!object || object->getString("method") != kRead)
    return message.str();
  (*object)["method"] = kRefused;
  return textOf(std::move(*object));
}

std::string gantry::lsp::withReason(StringRef message) {
  if (!message.contains(kRefused))
    return message.str();
  std::optional<json::Object> object = parseObject(message);
  json::Object *error = object ? object->getObject("error") : nullptr;
  if (!error || !error->getString("message").value_or("").contains(kRefused))
    return message.str();
  (*error)["message"] = "MLIR bytecode is not read here, since its reader does not check what it "
                        "reads; `gantry-opt FILE` writes a file of your own as text";
  return textOf(std::move(*object));
}
