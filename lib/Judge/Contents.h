// What each byte of a space holds, with a way back to what it held before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gantry::judge {

constexpr uint32_t nobody = UINT32_MAX;

/// A use of bytes by a step. `time` counts the commands as they are walked; 0: before all of them.
struct Event {
  uint32_t step = nobody;
  uint32_t queue = nobody;
  uint64_t time = 0;
};

/// The value of a buffer, or of nobody.
struct Value {
  uint32_t buffer = nobody;
  Event writer;
};

struct Content {
  Value value;
  std::optional<Value> onOtherWay; ///< where ways meet that left the values of two buffers
};

/// Bytes that were written together and have been read alike since.
struct WrittenBytes {
  uint64_t end = 0;
  Content content;
  std::vector<Event> readers; ///< since the write, of each queue the last
};

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

struct Stretch {
  ByteRange range;
  Content content;
};

/// The bytes of one space: one piece follows the other, nobody's at first.
class Contents {
public:
  explicit Contents(uint64_t size) { pieces[0].end = size; }

  /// Calls visit(range, piece) for each piece of a range, which has to lie in the space.
  template <typename Visit>
  void visit(ByteRange range, Visit visit) {
    cut(range.begin);
    cut(range.end);
    for (auto i = pieces.find(range.begin); i != pieces.end() && i->first < range.end; ++i)
      visit(ByteRange{i->first, i->second.end}, i->second);
  }

  void write(ByteRange range, const Content &content);

  std::vector<Stretch> read(ByteRange range);

private:
  std::map<uint64_t, WrittenBytes> pieces; ///< by begin

  void cut(uint64_t at);
};

} // namespace gantry::judge
