// Where the lists of nested steps begin and end, which are written flat.
#pragma once

#include "gantry/Judge/QueueProgram.h"

#include <utility>
#include <vector>

namespace gantry::judge {

/// Of each branch or loop, where its second list begins and where it ends.
using Lists = std::vector<std::pair<uint32_t, uint32_t>>;

inline bool nests(Step::Kind kind) {
  return kind == Step::Kind::branch || kind == Step::Kind::loop;
}

inline Lists matchLists(const std::vector<Step> &steps) {
  Lists lists(steps.size());
  std::vector<uint32_t> around;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Step::Kind kind = steps[i].kind;
    if (nests(kind)) {
      around.push_back(i);
    } else if (kind == Step::Kind::otherwise || kind == Step::Kind::body) {
      lists[around.back()].first = i;
    } else if (kind == Step::Kind::end) {
      lists[around.back()].second = i;
      around.pop_back();
    }
  }
  return lists;
}

} // namespace gantry::judge
