// A plan as it is read and a plan in the making give the same bytes to the hash: numbers as 8
// bytes, texts and lists behind their lengths.
#include "gantry/Plan/SaidOfCode.h"

#include "gantry/Plan/Views.h"
#include "gantry/Support/Hash.h"

#include <string_view>
#include <vector>

namespace gantry::plan {

namespace {

class Sum {
public:
  void add(uint64_t value) {
    hasher.update({reinterpret_cast<const uint8_t *>(&value), sizeof value});
  }
  void add(std::string_view text) {
    add(uint64_t(text.size()));
    hasher.update({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  }
  void add(std::span<const uint64_t> values) {
    add(uint64_t(values.size()));
    for (uint64_t value : values)
      add(value);
  }
  void add(std::span<const fb::SameBuffer> pairs) {
    add(uint64_t(pairs.size()));
    for (const fb::SameBuffer &pair : pairs)
      add(uint64_t(pair.read()) << 32 | pair.written());
  }
  void add(const fb::Extent *extent) {
    for (uint64_t side : extent ? std::vector<uint64_t>{extent->x(), extent->y(), extent->z()}
                                : std::vector<uint64_t>{0, 0, 0})
      add(side);
  }
  uint64_t result() { return hasher.digest(); }

private:
  Hasher hasher;
};

std::span<const uint64_t> numbersOf(const flatbuffers::Vector<uint64_t> *list) {
  return list ? std::span<const uint64_t>(list->data(), list->size()) : std::span<const uint64_t>();
}

std::span<const fb::SameBuffer> pairsOf(const flatbuffers::Vector<const fb::SameBuffer *> *list) {
  return list ? std::span(reinterpret_cast<const fb::SameBuffer *>(list->Data()), list->size())
              : std::span<const fb::SameBuffer>();
}

uint64_t hashOf(const fb::SignatureT &signature) {
  Sum sum;
  sum.add(signature.symbol);
  sum.add(std::span<const uint64_t>(signature.reads));
  sum.add(std::span<const uint64_t>(signature.writes));
  sum.add(std::span<const fb::SameBuffer>(signature.same));
  for (uint64_t number : {signature.scratch, uint64_t(signature.alignment), signature.items,
                          uint64_t(signature.shared_memory)})
    sum.add(number);
  sum.add(signature.grid.get());
  sum.add(signature.block.get());
  return sum.result();
}

uint64_t saidHashOf(fb::CodeKind kind, std::string_view target,
                    const std::vector<std::string_view> &features,
                    std::span<const uint64_t> signatureHashes) {
  Sum sum;
  sum.add(static_cast<uint64_t>(kind));
  sum.add(target);
  sum.add(uint64_t(features.size()));
  for (std::string_view feature : features)
    sum.add(feature);
  sum.add(signatureHashes);
  return sum.result();
}

} // namespace

uint64_t hashOf(const fb::Signature &signature) {
  Sum sum;
  sum.add(textOf(signature.symbol()));
  sum.add(numbersOf(signature.reads()));
  sum.add(numbersOf(signature.writes()));
  sum.add(pairsOf(signature.same()));
  for (uint64_t number : {signature.scratch(), uint64_t(signature.alignment()), signature.items(),
                          uint64_t(signature.shared_memory())})
    sum.add(number);
  sum.add(signature.grid());
  sum.add(signature.block());
  return sum.result();
}

uint64_t saidHashOf(const fb::Code &code, std::span<const uint64_t> signatureHashes) {
  std::vector<std::string_view> features;
  for (const flatbuffers::String *feature : each(code.features()))
    features.push_back(textOf(feature));
  return saidHashOf(code.kind(), textOf(code.target()), features, signatureHashes);
}

void setSaidHashes(fb::PlanT &plan) {
  for (auto &code : plan.code) {
    if (code->signatures.empty())
      continue;
    std::vector<uint64_t> hashes;
    for (uint32_t index : code->signatures)
      hashes.push_back(hashOf(*plan.signatures[index]));
    code->said_hash = saidHashOf(code->kind, code->target,
                                 {code->features.begin(), code->features.end()}, hashes);
  }
}

} // namespace gantry::plan
