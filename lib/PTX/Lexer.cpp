#include "Lexer.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <string>

using namespace gantry::ptx;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool startsWord(char c) { return isLetter(c) || c == '%' || c == '$'; }
bool continuesWord(char c) { return isLetter(c) || isDigit(c) || c == '$'; }

} // namespace

/// False when a comment does not end.
bool Lexer::skipBlanks() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      lineStart = ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at;
    } else if (c == '/' && peek(1) == '/') {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (c == '/' && peek(1) == '*') {
      for (at += 2; !(peek() == '*' && peek(1) == '/'); ++at) {
        if (at >= text.size())
          return false;
        if (text[at] == '\n') {
          ++line;
          lineStart = at + 1;
        }
      }
      at += 2;
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::number(Token token) {
  size_t begin = at;
  token.kind = Token::Kind::integer;
  if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D')) {
    bool single = peek(1) == 'f' || peek(1) == 'F';
    for (at += 2; isHex(peek()); ++at)
      ;
    std::from_chars(text.data() + begin + 2, text.data() + at, token.value, 16);
    token.kind = at - begin - 2 != (single ? 8u : 16u) ? Token::Kind::bad
                 : single                              ? Token::Kind::single
                                                       : Token::Kind::real;
  } else if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    for (at += 2; isHex(peek()); ++at)
      ;
    auto [end, error] = std::from_chars(text.data() + begin + 2, text.data() + at, token.value, 16);
    if (error != std::errc() || end != text.data() + at)
      token.kind = Token::Kind::bad;
  } else {
    while (isDigit(peek()))
      ++at;
    bool fraction = peek() == '.' && isDigit(peek(1));
    if (fraction) {
      for (++at; isDigit(peek());)
        ++at;
      if ((peek() == 'e' || peek() == 'E') &&
          (isDigit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && isDigit(peek(2)))))
        for (at += 2; isDigit(peek());)
          ++at;
      token.kind = Token::Kind::real;
      double real = 0;
      auto [end, error] = std::from_chars(text.data() + begin, text.data() + at, real);
      if (error == std::errc::result_out_of_range)
        real = std::strtod(std::string(text.substr(begin, at - begin)).c_str(), nullptr);
      token.value = std::bit_cast<uint64_t>(real);
    } else {
      // A leading 0 makes it octal, as in C; 0b binary.
      bool binary = text[begin] == '0' && at - begin == 1 && (peek() == 'b' || peek() == 'B');
      size_t digits = begin;
      int base = text[begin] == '0' && at - begin > 1 ? 8 : 10;
      if (binary) {
        base = 2;
        digits = ++at;
        while (peek() == '0' || peek() == '1')
          ++at;
      }
      auto [end, error] =
          std::from_chars(text.data() + digits, text.data() + at, token.value, base);
      if (error != std::errc() || end != text.data() + at)
        token.kind = Token::Kind::bad;
    }
  }
  if (token.kind == Token::Kind::integer && peek() == 'U')
    ++at;
  token.text = text.substr(begin, at - begin);
  return token;
}

Token Lexer::next() {
  size_t before = at;
  Token token;
  bool closed = skipBlanks();
  token.place = {line, uint32_t(at - lineStart + 1)};
  token.afterSpace = at != before;
  if (!closed) {
    token.kind = Token::Kind::bad;
    token.text = "/*";
    return token;
  }
  if (at >= text.size())
    return token;
  size_t begin = at;
  char c = text[at];
  if (startsWord(c)) {
    for (++at; continuesWord(peek());)
      ++at;
    token.kind = Token::Kind::word;
  } else if (c == '.' && (isLetter(peek(1)) || isDigit(peek(1)))) {
    for (++at; continuesWord(peek()) || (peek() == ':' && peek(1) == ':');)
      at += peek() == ':' ? 2 : 1;
    token.kind = Token::Kind::dotted;
  } else if (isDigit(c)) {
    return number(token);
  } else if (c == '"') {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      if (text[at] == '\\' && peek(1) != '\n')
        ++at;
    bool ends = peek() == '"';
    token.kind = ends ? Token::Kind::string : Token::Kind::bad;
    token.text = text.substr(begin + ends, std::min(at, text.size()) - begin - ends);
    at = std::min(at + ends, text.size());
    return token;
  } else {
    ++at;
    constexpr std::string_view known = "{}[]()<>,;:@!|+-*=~&^?/%";
    token.kind = known.find(c) != known.npos ? Token::Kind::punctuation : Token::Kind::bad;
  }
  token.text = text.substr(begin, at - begin);
  return token;
}
