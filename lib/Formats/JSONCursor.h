// Reads JSON whose form is known in front: the caller says what has to come next, so that nothing
// nests deeper than it asks for. Texts are UTF-8, whole numbers from 0 on the only ones.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace gantry::arrays {

/// Errors are CORRUPT, with the byte where the text goes wrong and what was expected there.
class JSONCursor {
public:
  explicit JSONCursor(std::string_view text) : text(text) {}

  /// An object: `read` is given each key, which is there once, and reads its value.
  template <typename Read>
  Status object(Read read) {
    GANTRY_RETURN_IF_ERROR(expect('{'));
    std::set<std::string, std::less<>> keys;
    if (eat('}'))
      return {};
    do {
      Expected<std::string> key = string();
      if (!key)
        return key.status();
      if (!keys.insert(*key).second)
        return wrong("'" + *key + "' is there twice");
      GANTRY_RETURN_IF_ERROR(expect(':'));
      GANTRY_RETURN_IF_ERROR(read(*key));
    } while (eat(','));
    return expect('}');
  }

  /// A list: `read` reads each element.
  template <typename Read>
  Status list(Read read) {
    GANTRY_RETURN_IF_ERROR(expect('['));
    if (eat(']'))
      return {};
    do
      GANTRY_RETURN_IF_ERROR(read());
    while (eat(','));
    return expect(']');
  }

  Expected<std::string> string();
  Expected<uint64_t> number();
  /// True after the word, which it reads: "null".
  bool eatWord(std::string_view word);
  /// Nothing but white space is left.
  Status end();
  Status wrong(const std::string &what) const;

private:
  void skipSpace();
  bool eat(char c);
  Status expect(char c);
  /// What stands behind a backslash.
  Status escape(std::string &into);
  Expected<uint32_t> fourDigits();

  std::string_view text;
  size_t at = 0;
};

} // namespace gantry::arrays
