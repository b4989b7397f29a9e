#include "Buffers.h"

#include "gantry/Support/Names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_map>

using namespace gantry;
using namespace gantry::memplan;

namespace {

enum Column : size_t { id, lower, upper, size, offset, alignmentOf, numColumns };
constexpr std::array<std::string_view, numColumns> columnNames = {"id",   "lower",  "upper",
                                                                  "size", "offset", "alignment"};
constexpr size_t absent = SIZE_MAX;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> fieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos)
      return fields;
    line.remove_prefix(comma + 1);
  }
}

class Reader {
public:
  Reader(std::string_view text, const std::string &name, uint64_t alignment)
      : rest(text), name(name), alignment(alignment) {}

  Expected<BufferList> read() {
    if (!nextLine())
      return wrong("there is no line; the first must name the columns: id,lower,upper,size");
    GANTRY_RETURN_IF_ERROR(readHeader());
    while (nextLine())
      if (!trimmed(line).empty())
        GANTRY_RETURN_IF_ERROR(readBuffer());
    return std::move(list);
  }

private:
  std::string_view rest, line;
  const std::string &name;
  const uint64_t alignment;
  size_t number = 0;
  size_t columns = 0;
  std::array<size_t, numColumns> at;                   ///< place of each column in a line
  std::unordered_map<std::string_view, size_t> lineOf; ///< of each id
  BufferList list;

  bool nextLine() {
    if (rest.empty())
      return false;
    size_t end = rest.find('\n');
    line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    ++number;
    return true;
  }

  Status wrong(const std::string &what) const {
    return Status::invalidArgument(
        printable(name) + ":" + std::to_string(std::max<size_t>(1, number)) + ": error: " + what);
  }

  Status readHeader() {
    at.fill(absent);
    std::vector<std::string_view> fields = fieldsOf(line);
    columns = fields.size();
    for (size_t i = 0; i < fields.size(); ++i) {
      auto known = std::find(columnNames.begin(), columnNames.end(), fields[i]);
      if (known == columnNames.end())
        return wrong("unknown column '" + printable(fields[i]) +
                     "'; the columns are id, lower, upper, size, and perhaps offset and alignment");
      size_t &place = at[static_cast<size_t>(known - columnNames.begin())];
      if (place != absent)
        return wrong("the column '" + std::string(*known) + "' is there twice; remove one");
      place = i;
    }
    for (size_t column : {id, lower, upper, size})
      if (at[column] == absent)
        return wrong("there is no column '" + std::string(columnNames[column]) +
                     "'; the first line must name the columns: id,lower,upper,size");
    return {};
  }

  Status readBuffer() {
    std::vector<std::string_view> fields = fieldsOf(line);
    if (fields.size() != columns)
      return wrong("the line has " + std::to_string(fields.size()) + " fields, the first line " +
                   std::to_string(columns) + "; write one for each column");
    if (auto [known, isNew] = lineOf.emplace(fields[at[id]], number); !isNew)
      return wrong("the id '" + printable(fields[at[id]]) + "' is that of line " +
                   std::to_string(known->second) + ", too; give each buffer its own");
    constexpr uint64_t lastStep = std::numeric_limits<uint32_t>::max(), anyNumber = UINT64_MAX;
    uint64_t begin = 0, end = 0, bytes = 0, place = 0, multiple = alignment;
    GANTRY_RETURN_IF_ERROR(readNumber(fields, lower, lastStep, begin));
    GANTRY_RETURN_IF_ERROR(readNumber(fields, upper, lastStep, end));
    GANTRY_RETURN_IF_ERROR(readNumber(fields, size, anyNumber, bytes));
    auto isGiven = [&](Column column) {
      return at[column] != absent && !fields[at[column]].empty();
    };
    if (isGiven(alignmentOf))
      GANTRY_RETURN_IF_ERROR(readNumber(fields, alignmentOf, anyNumber, multiple));
    if (isGiven(offset))
      GANTRY_RETURN_IF_ERROR(readNumber(fields, offset, anyNumber, place));
    packing::Buffer buffer{bytes, uint32_t(begin), uint32_t(end), multiple, {}};
    if (isGiven(offset))
      buffer.fixedOffset = place;
    if (Status status = packing::checkProblem({{buffer}}); !status.ok())
      return wrong(
          std::string(status.message())
              .replace(0, std::string("buffer 0").size(), "'" + printable(fields[at[id]]) + "'") +
          "; correct the line");
    list.ids.emplace_back(fields[at[id]]);
    list.problem.buffers.push_back(buffer);
    return {};
  }

  Status readNumber(const std::vector<std::string_view> &fields, Column column, uint64_t most,
                    uint64_t &value) const {
    std::string_view text = fields[at[column]];
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string what =
        "'" + std::string(columnNames[column]) + "' is '" + printable(text) + "'";
    if (error == std::errc::result_out_of_range || (error == std::errc() && value > most))
      return wrong(what + "; the largest is " + std::to_string(most) +
                   (most < UINT64_MAX ? ": number the steps from 0, without gaps" : ""));
    if (error != std::errc() || end != text.data() + text.size())
      return wrong(what + "; write a number of digits only");
    return {};
  }
};

} // namespace

Expected<BufferList> gantry::memplan::readBuffers(std::string_view text, const std::string &name,
                                                  uint64_t alignment) {
  return Reader(text, name, alignment).read();
}

std::string gantry::memplan::writeBuffers(const BufferList &list,
                                          const packing::Solution &solution) {
  std::string text = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < list.ids.size(); ++i) {
    const packing::Buffer &buffer = list.problem.buffers[i];
    text += list.ids[i];
    for (uint64_t number :
         {uint64_t(buffer.first), uint64_t(buffer.last), buffer.size, solution.offsets[i]})
      text += "," + std::to_string(number);
    text += "\n";
  }
  return text;
}
