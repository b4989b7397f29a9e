// The documentation is the generated page of each dialect, built in.

#include "HoverDocs.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

/// Pages of the dialects, as docs/CMakeLists.txt makes them.
static constexpr const char *kPages[] = {
#include "GantryDialectPage.inc"
    ,
#include "PlanDialectPage.inc"
};

//===----------------------------------------------------------------------===//
// Documentation
//===----------------------------------------------------------------------===//

/// Cuts [begin of `from`, begin of `to`) out of the text; `to` empty means to the end.
static std::string without(StringRef text, StringRef from, StringRef to) {
  size_t begin = text.find(from);
  if (begin == StringRef::npos)
    return text.str();
  size_t end = to.empty() ? text.size() : std::min(text.find(to, begin), text.size());
  return (text.take_front(begin) + text.drop_front(end)).str();
}

/// Of the section of one op: no grammar, which the cursor is on, no traits, and no tables of
/// operands and results, whose types are in the line.
static std::string readable(StringRef section) {
  std::string text = section.str();
  if (size_t syntax = text.find("Syntax:"); syntax != std::string::npos) {
    size_t open = text.find("```", syntax), close = text.find("```", open + 3);
    if (open != std::string::npos && close != std::string::npos)
      text.erase(syntax, close + 3 - syntax);
  }
  text = without(text, "\nTraits:", "\n#### ");
  text = without(text, "\nInterfaces:", "\n#### ");
  text = without(text, "\nEffects:", "\n#### ");
  text = without(text, "\n#### Operands:", "\n#### Results:");
  text = without(text, "\n#### Results:", "");
  std::string compact;
  for (StringRef rest = StringRef(text).trim(); !rest.empty();) {
    auto [paragraph, next] = rest.split("\n\n");
    compact += (compact.empty() ? "" : "\n\n") + paragraph.trim().str();
    rest = next.ltrim('\n');
  }
  return compact;
}

static StringMap<std::string> readPages() {
  StringMap<std::string> docs;
  for (StringRef page : kPages) {
    SmallVector<StringRef> sections;
    page.split(sections, "\n### `");
    for (StringRef section : ArrayRef(sections).drop_front()) {
      auto [op, rest] = section.split('`');
      docs[op] = readable(rest.split('\n').second);
    }
  }
  return docs;
}

std::string gantry::lsp::documentationOf(StringRef op) {
  static const StringMap<std::string> docs = readPages();
  return docs.lookup(op);
}

std::string gantry::lsp::withDocumentation(StringRef message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    consumeError(parsed.takeError());
    return message.str();
  }
  json::Object *object = parsed->getAsObject();
  json::Object *result = object ? object->getObject("result") : nullptr;
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  std::optional<StringRef> text = contents ? contents->getString("value") : std::nullopt;
  // A hover over an op begins with its name in quotes.
  if (!text || !text->consume_front("\""))
    return message.str();
  auto [op, rest] = text->split('"');
  std::string docs = documentationOf(op);
  if (docs.empty())
    return message.str();
  (*contents)["value"] = ("**" + op + "** " + docs + "\n\n---\n\n\"" + op + "\"" + rest).str();
  return formatv("{0:2}", *parsed).str();
}
