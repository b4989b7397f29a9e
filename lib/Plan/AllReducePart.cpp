#include "gantry/Plan/AllReducePart.h"

#include "Words.h"

namespace gantry::plan {

namespace {

// So that no size of these overflows.
constexpr uint64_t mostElements = uint64_t(1) << 48, mostRanks = 1024;

} // namespace

bool AllReducePart::canAdd(ElementType type) {
  return type != ElementType::i1 && type != ElementType::i16 && type != ElementType::u16;
}

std::string AllReducePart::text() const {
  return "all_reduce sum " + std::string(elementTypeName(type)) + " elements " +
         std::to_string(elements) + " rank " + std::to_string(rank) + " of " +
         std::to_string(ranks);
}

Expected<AllReducePart> AllReducePart::parse(std::string_view text) {
  Words words(text);
  words.expect("all_reduce");
  words.expect("sum");
  const std::optional<ElementType> type = elementTypeNamed(words.take());
  words.expect("elements");
  const uint64_t elements = words.number();
  words.expect("rank");
  const uint64_t rank = words.number();
  words.expect("of");
  const uint64_t ranks = words.number();
  auto fail = [&](const char *what) {
    return Status::corrupt("'" + std::string(text.substr(0, 300)) + "' " + what);
  };
  if (words.failed || !type)
    return fail("is no all-reduce as the library nccl has them");
  if (!canAdd(*type) || elements == 0 || elements > mostElements)
    return fail("is of what the library nccl cannot add");
  if (ranks < 2 || ranks > mostRanks || rank >= ranks)
    return fail("is the part of a rank that there is not");
  const AllReducePart part{*type, elements, static_cast<uint32_t>(rank),
                           static_cast<uint32_t>(ranks)};
  if (part.text() != text)
    return fail("is no all-reduce as the library nccl has them");
  return part;
}

} // namespace gantry::plan
