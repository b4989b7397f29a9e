// What is said about a plan from its metadata, in lines and in JSON.
#pragma once

#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/JSONWriter.h"

#include <string>

namespace gantry::show {

/// "1 op", "2 ops", "3 launches".
std::string counted(uint64_t count, std::string noun);

/// One line a device: `GPU:0 (sim): constants 4.1 MiB, variables 0 bytes, transient 1.5 MiB (1.02
/// of the lower bound), limit 1 GiB`.
std::string memorySummary(const plan::fb::Plan &plan);
/// The same as an array of objects.
std::string memoryAsJSON(const plan::fb::Plan &plan);

/// Members of an object about where an op is placed (spec P9), and about a copy.
void addPlacement(JSONWriter &json, const plan::fb::Plan &plan, const plan::fb::PlacedOp &op);
void addCopy(JSONWriter &json, const plan::fb::Plan &plan, const plan::LedgerCopy &copy);

std::string_view fullDeviceName(const plan::fb::Plan &plan, uint32_t device);
/// "GPU:0" of a full name, or the name itself where it cannot be parsed.
std::string shortDeviceName(std::string_view full);
std::string shortDeviceName(const plan::fb::Plan &plan, uint32_t device);

/// What the model calls an op: the node that it is (a part of) and that node's type. An op of a
/// graph without such names is called by its stable name, else by its name in the log.
std::string_view nodeOf(const plan::fb::PlacedOp &op);
std::string_view typeOf(const plan::fb::PlacedOp &op);

/// The use that caused a copy, in words; a node that is named there is not named again as its
/// place.
std::string causeOf(std::string_view cause);

/// "at load", "every run", "in a branch or loop".
const char *timeOf(plan::CopyTime time);

/// "f32[2,3]" of a type in the metadata, and its bytes.
std::string typeText(const plan::fb::TensorType &type);
uint64_t typeBytes(const plan::fb::TensorType &type);

/// Text of an optional string of the metadata.
using plan::textOf;

/// An optional vector of the metadata as a range; empty where it is absent.
template <typename T>
class ListOf {
public:
  explicit ListOf(const flatbuffers::Vector<T> *list) : list(list) {}
  auto begin() const { return list ? list->begin() : Iterator(); }
  auto end() const { return list ? list->end() : Iterator(); }
  size_t size() const { return list ? list->size() : 0; }
  auto operator[](size_t index) const { return list->Get(static_cast<uint32_t>(index)); }

private:
  using Iterator = typename flatbuffers::Vector<T>::const_iterator;
  const flatbuffers::Vector<T> *list;
};

template <typename T>
ListOf<T> listOf(const flatbuffers::Vector<T> *list) {
  return ListOf<T>(list);
}

} // namespace gantry::show
