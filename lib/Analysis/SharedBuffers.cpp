#include "gantry/Analysis/SharedBuffers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

std::optional<Share> gantry::memory::shareOf(plan::ir::BufferDeclOp buffer) {
  auto attr = buffer->getAttrOfType<DenseI64ArrayAttr>(kSharesAttr);
  if (!attr || attr.size() != 2)
    return std::nullopt;
  return Share{attr[0], uint64_t(attr[1])};
}

void gantry::memory::setShare(plan::ir::BufferDeclOp buffer, Share share) {
  buffer->setAttr(kSharesAttr,
                  DenseI64ArrayAttr::get(buffer.getContext(), {share.whole, int64_t(share.begin)}));
}

uint64_t gantry::memory::beginOf(plan::ir::OutputOp output) {
  auto begin = output->getAttrOfType<IntegerAttr>(kBeginsAttr);
  return begin ? begin.getInt() : 0;
}

void gantry::memory::setBegin(plan::ir::OutputOp output, uint64_t begin) {
  output->setAttr(kBeginsAttr, Builder(output.getContext()).getI64IntegerAttr(begin));
}

LiveRange Whole::live(const Timeline &time) const {
  LiveRange all = liveRange(buffer, time);
  for (plan::ir::BufferDeclOp part : parts) {
    LiveRange own = liveRange(part, time);
    if (own.first >= own.last)
      continue;
    bool isFirst = all.first >= all.last;
    all = isFirst ? own : LiveRange{std::min(all.first, own.first), std::max(all.last, own.last)};
  }
  return all;
}

SmallVector<Whole> gantry::memory::wholesOf(plan::ir::FuncOp func) {
  SmallVector<Whole> wholes;
  DenseMap<int64_t, size_t> numbered;
  func.walk([&](plan::ir::BufferDeclOp buffer) {
    std::optional<Share> share = shareOf(buffer);
    auto [known, isNew] =
        share ? numbered.try_emplace(share->whole, wholes.size()) : std::pair(numbered.end(), true);
    if (isNew)
      wholes.push_back({buffer, {}});
    else
      wholes[known->second].parts.push_back(buffer);
  });
  return wholes;
}
