// PTX's text as tokens, made when asked for.
#pragma once

#include "gantry/PTX/Module.h"

#include <string_view>

namespace gantry::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    word,        ///< add, %r1, $L__BB0_2, _Z3fooPf
    dotted,      ///< .global, .L1::evict_last: the dot is part of text
    integer,     ///< value
    real,        ///< value: bits of an f64
    single,      ///< 0f3F800000; value: bits of an f32
    string,      ///< text without the quotes
    punctuation, ///< one character
    bad          ///< an unknown character or an unclosed string or comment
  };
  Kind kind = Kind::end;
  std::string_view text;
  uint64_t value = 0;
  Place place;
  bool afterSpace = false;

  bool is(char c) const { return kind == Kind::punctuation && text.front() == c; }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

private:
  bool skipBlanks();
  Token number(Token token);
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  std::string_view text;
  size_t at = 0;
  uint32_t line = 1;
  size_t lineStart = 0;
};

} // namespace gantry::ptx
