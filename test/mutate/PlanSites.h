// Where the metadata of a plan can be changed: every number, text, list and reference in it, found
// with the schema that the file was written by. A change of one of these gives a FlatBuffer that
// mostly still is one, so that what is tried are the rules behind the structure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gantry::plan::test {

struct Site {
  enum class Kind : uint8_t {
    number,    ///< `size` bytes
    structure, ///< of `size` bytes
    reference, ///< four bytes: how far away a table, text or list is
    length,    ///< four bytes: of a list or text
    text,      ///< `size` characters
    field,     ///< two bytes of a table's layout: where a field is, 0 for nowhere
  };
  Kind kind;
  bool isReal;       ///< a number that is a double
  uint32_t at, size; ///< bytes of the metadata
};

/// Sites of one field of one kind of table, which may stand for each other.
struct Group {
  std::string name;        ///< "Command.buffers.offset"
  std::string type;        ///< of what a reference is to
  std::vector<Site> sites; ///< in the order in which they were met
};

struct Sites {
  std::vector<Group> groups;
  std::map<std::string, std::vector<uint32_t>>
      targets; ///< by type: where such tables and lists are
};

/// Of metadata that was verified. `schema` is the binary form that flatc makes of Plan.fbs.
Sites findSites(std::span<const uint8_t> metadata, std::span<const uint8_t> schema);

} // namespace gantry::plan::test
